use std::path::PathBuf;

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, SecretVolumeSource, Volume};
use ragengine_operator_api::{GUARDRAILS_POLICY, RagEngineSpec, TLS_CERTIFICATE, TLS_KEY};

use super::item;
use crate::rag_engine::references::{Reference, ReferenceKind};
use crate::rag_engine::settings::{
    API_KEYS, GUARDRAILS, GUARDRAILS_FOLDER, RESTORE_KEYS, TLS, api_keys_folder, restore_keys_folder, restore_of,
    tls_folder,
};
use crate::sync_job::mount::BUCKET_KEYS;

/// An object that the server reads again when it changes.
#[derive(Debug, Clone)]
pub struct Reread {
    /// The name of its volume.
    pub volume: &'static str,
    /// The folder that the volume is mounted at.
    pub folder: PathBuf,
    /// The mounted keys. Empty: each key is a file.
    pub keys: &'static [&'static str],
    /// The object.
    pub reference: Reference,
}

impl Reread {
    /// Its volume. If a key is missing, the pod does not start and the status says so, unless the object is optional.
    pub(super) fn into_volume(self) -> Volume {
        let Reference { kind, name, is_optional, .. } = self.reference;
        let items = (!self.keys.is_empty()).then(|| self.keys.iter().map(|key| item(key)).collect());
        let optional = is_optional.then_some(true);
        let named = Volume { name: self.volume.to_owned(), ..Volume::default() };
        match kind {
            ReferenceKind::Secret => Volume {
                secret: Some(SecretVolumeSource {
                    secret_name: Some(name),
                    items,
                    optional,
                    ..SecretVolumeSource::default()
                }),
                ..named
            },
            ReferenceKind::ConfigMap => Volume {
                config_map: Some(ConfigMapVolumeSource { name, items, optional, ..ConfigMapVolumeSource::default() }),
                ..named
            },
        }
    }
}

/// The objects of a specification that the server reads again: the API keys, the policy of guardrails, the certificate
/// and the credentials for a backup. The server starts without a policy, and refuses chats. Without the credentials it
/// restores nothing, and is not ready.
pub fn reread(spec: &RagEngineSpec) -> Vec<Reread> {
    let secret = |name: String| Reference { kind: ReferenceKind::Secret, name, is_optional: false, is_reread: true };
    let keys = spec.auth.api_keys_secret.clone().map(|name| Reread {
        volume: API_KEYS,
        folder: api_keys_folder(),
        keys: &[],
        reference: secret(name),
    });
    let guardrails = spec.guardrails.as_ref().filter(|guardrails| guardrails.enabled);
    let policy = guardrails.and_then(|guardrails| guardrails.config_map_ref.clone()).map(|policy| Reread {
        volume: GUARDRAILS,
        folder: GUARDRAILS_FOLDER.into(),
        keys: &[GUARDRAILS_POLICY],
        reference: Reference { kind: ReferenceKind::ConfigMap, name: policy.name, is_optional: true, is_reread: true },
    });
    let certificate = spec.tls.clone().map(|tls| Reread {
        volume: TLS,
        folder: tls_folder(),
        keys: &[TLS_CERTIFICATE, TLS_KEY],
        reference: secret(tls.secret_name),
    });
    let bucket = restore_of(spec).and_then(|restore| restore.s3.as_ref());
    let credentials = bucket.and_then(|bucket| bucket.access_secret.clone()).map(|name| Reread {
        volume: RESTORE_KEYS,
        folder: restore_keys_folder(),
        keys: &BUCKET_KEYS,
        // Optional, because some of the keys may be missing.
        reference: Reference { is_optional: true, ..secret(name) },
    });
    keys.into_iter().chain(policy).chain(certificate).chain(credentials).collect()
}

//! Volumes of Jobs, and where they are mounted.

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, KeyToPath, SecretVolumeSource, Volume, VolumeMount};
use ragengine_operator_api::{RagEngine, WRITE_TOKEN, Writes};

use super::task::{SERVER_CERTIFICATES, SERVER_FOLDER, TOKEN_FOLDER};
use crate::names::Identity;

/// The keys of a Secret for a bucket.
pub const BUCKET_KEYS: [&str; 4] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "ca.crt"];

/// A volume and its mount path.
pub struct Mount {
    /// The volume.
    pub volume: Volume,
    /// The path in the container.
    pub path: String,
    /// Whether it is mounted read-only.
    pub is_read_only: Option<bool>,
}

impl Mount {
    /// A volume that is mounted read-only.
    pub fn read_only(volume: Volume, path: String) -> Self {
        Self { volume, path, is_read_only: Some(true) }
    }

    /// The mount in a container.
    pub fn in_container(&self) -> VolumeMount {
        VolumeMount {
            name: self.volume.name.clone(),
            mount_path: self.path.clone(),
            read_only: self.is_read_only,
            ..VolumeMount::default()
        }
    }
}

/// What a Job needs to write to the server of an engine: the write token, and the certificates without their key.
pub fn of_server(engine: &RagEngine) -> impl Iterator<Item = Mount> {
    let has_token = engine.spec.auth.writes == Writes::Token;
    let token = has_token.then(|| {
        let token = secret("write-token", &Identity::of(engine).write_token(), Some(WRITE_TOKEN));
        Mount::read_only(token, TOKEN_FOLDER.to_owned())
    });
    let certificates = engine.spec.tls.as_ref().map(|tls| {
        Mount::read_only(optional_keys("server", &tls.secret_name, &SERVER_CERTIFICATES), SERVER_FOLDER.to_owned())
    });
    token.into_iter().chain(certificates)
}

/// A volume with some keys of a Secret.
pub fn optional_keys(volume: &str, secret: &str, keys: &[&str]) -> Volume {
    Volume {
        name: volume.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(secret.to_owned()),
            items: Some(keys.iter().flat_map(|key| item(key)).collect()),
            // Allows a key to be missing. The Secret itself was checked before the Job was created.
            optional: Some(true),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn item(key: &str) -> Vec<KeyToPath> {
    vec![KeyToPath { key: key.to_owned(), path: key.to_owned(), mode: None }]
}

/// A volume with one key of a ConfigMap, or all of them.
pub fn config_map(volume: &str, name: &str, key: Option<&str>) -> Volume {
    Volume {
        name: volume.to_owned(),
        config_map: Some(ConfigMapVolumeSource {
            name: name.to_owned(),
            items: key.map(item),
            ..ConfigMapVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn secret(volume: &str, name: &str, key: Option<&str>) -> Volume {
    Volume {
        name: volume.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(name.to_owned()),
            items: key.map(item),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}

//! The server's settings file: what of a specification the server has to know.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ragengine_operator_api::{
    EMBEDDING_ACCESS_SECRET, Embedding, HF_TOKEN, InferenceService, LLM_ACCESS_SECRET, LocalEmbedding, Pooling,
    RagEngineSpec, RemoteEmbedding, Retrieval, Volume, WRITE_TOKEN, Writes,
};
use ragengine_settings::{self as settings, SecretReference, Settings};
use serde_json::{Map, Value};

use super::monitoring::Monitoring;
use super::validate::Defaults;
use crate::names::Identity;

/// The port that the server listens on.
pub const PORT: u16 = 5000;
/// The port of its listener for probes and monitors.
pub const ADMIN_PORT: u16 = 5001;
/// The folder of the settings file.
pub const SETTINGS_FOLDER: &str = "/etc/ragengine";
/// The settings file's key in its ConfigMap, and its name in [`SETTINGS_FOLDER`].
pub const SETTINGS_FILE: &str = "settings.yaml";
/// Where the data is when there is no volume but the pod's own.
pub const EPHEMERAL_FOLDER: &str = "/data";

/// The model that is in the image, and where it is there.
const MODEL_IN_IMAGE: (&str, &str) =
    ("sentence-transformers/all-MiniLM-L6-v2", "/models/sentence-transformers/all-MiniLM-L6-v2");

/// A Secret that the server reads, as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The language model's key.
    LanguageModel,
    /// The embedding endpoint's key.
    Embedding,
    /// The hub's token.
    Hub,
    /// The token that writes need.
    Write,
}

impl Access {
    /// The volume that it is mounted from.
    pub fn volume(self) -> &'static str {
        match self {
            Self::LanguageModel => "language-model-key",
            Self::Embedding => "embedding-key",
            Self::Hub => "hub-token",
            Self::Write => "write-token",
        }
    }

    /// The key in the Secret.
    pub fn key(self) -> &'static str {
        match self {
            Self::LanguageModel => LLM_ACCESS_SECRET,
            Self::Embedding => EMBEDDING_ACCESS_SECRET,
            Self::Hub => HF_TOKEN,
            Self::Write => WRITE_TOKEN,
        }
    }

    /// Where it is mounted.
    pub fn folder(self) -> PathBuf {
        Path::new("/run/secrets/ragengine").join(self.volume())
    }

    fn file(self) -> SecretReference {
        SecretReference::File(self.folder().join(self.key()))
    }
}

/// The Secrets that a specification names, in the order of their volumes, and the one with the write token.
pub fn accesses(spec: &RagEngineSpec, identity: &Identity) -> Vec<(Access, String)> {
    let embedding = spec.embedding();
    let hub = embedding.local.and_then(|local| local.model_access_secret);
    let remote = embedding.remote.and_then(|remote| remote.access_secret);
    let language_model = spec.inference_service.as_ref().and_then(|service| service.access_secret.clone());
    let write = (spec.auth.writes == Writes::Token).then(|| identity.write_token());
    let named = [
        (Access::LanguageModel, language_model),
        (Access::Embedding, remote),
        (Access::Hub, hub),
        (Access::Write, write),
    ];
    named.into_iter().filter_map(|(access, secret)| Some((access, secret?))).collect()
}

/// The folder of the data.
pub fn data_folder(spec: &RagEngineSpec) -> &str {
    match spec.storage.as_ref().map_or(Volume::Ephemeral, |storage| storage.volume()) {
        Volume::Ephemeral => EPHEMERAL_FOLDER,
        Volume::Existing { mount_path, .. } | Volume::Made { mount_path, .. } => mount_path,
    }
}

/// The settings that a specification means.
pub fn settings(spec: &RagEngineSpec, identity: &Identity, defaults: &Defaults, monitoring: Monitoring) -> Settings {
    // Every field: one that is added has to be settled here. What is ignored is of the pod, not of the server in it.
    let RagEngineSpec {
        replicas: _,
        embedding: _,
        inference_service,
        guardrails: _,
        storage: _,
        retrieval,
        auth,
        cors,
        allowed_hosts,
        network_policy: _,
        image: _,
        resources: _,
        compute: _,
        pod_template: _,
    } = spec;
    Settings {
        listen: SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)),
        admin_listen: match monitoring {
            Monitoring::OwnListener => Some(SocketAddr::from((Ipv4Addr::UNSPECIFIED, ADMIN_PORT))),
            Monitoring::SameListener => None,
        },
        data_dir: data_folder(spec).into(),
        embedding: embedding(&spec.embedding()),
        inference_service: inference_service.as_ref().map(language_model).unwrap_or_default(),
        retrieval: retrieval_settings(retrieval),
        auth: auth_settings(auth.writes, identity),
        allowed_hosts: host_names(allowed_hosts, identity, defaults),
        cors: settings::Cors {
            allowed_origins: cors.as_ref().map(|cors| cors.allowed_origins.clone()).unwrap_or_default(),
        },
        ..Settings::default()
    }
}

fn embedding(embedding: &Embedding) -> settings::Embedding {
    let Embedding { local, remote } = embedding;
    settings::Embedding { local: local.as_ref().map(local_embedding), remote: remote.as_ref().map(remote_embedding) }
}

fn local_embedding(local: &LocalEmbedding) -> settings::LocalEmbedding {
    let LocalEmbedding {
        model_id,
        revision,
        hub_url,
        model_access_secret,
        image: _,
        image_pull_secret: _,
        max_tokens,
        pooling,
        query_prefix,
        passage_prefix,
    } = local.clone();
    let defaults = settings::LocalEmbedding::default();
    let is_in_image = model_id == MODEL_IN_IMAGE.0 && revision == defaults.revision;
    settings::LocalEmbedding {
        model_id: if is_in_image { MODEL_IN_IMAGE.1.to_owned() } else { model_id },
        revision,
        hub_url,
        hub_token: model_access_secret.map(|_| Access::Hub.file()),
        max_tokens,
        pooling: pooling.map(|pooling| match pooling {
            Pooling::Mean => settings::Pooling::Mean,
            Pooling::Cls => settings::Pooling::Cls,
        }),
        query_prefix,
        passage_prefix,
        ..defaults
    }
}

fn remote_embedding(remote: &RemoteEmbedding) -> settings::RemoteEmbedding {
    let RemoteEmbedding {
        url,
        model,
        access_secret,
        dimensions,
        max_tokens,
        batch_size,
        timeout_seconds,
        query_prefix,
        passage_prefix,
    } = remote.clone();
    settings::RemoteEmbedding {
        url,
        model,
        api_key: access_secret.map(|_| Access::Embedding.file()),
        dimensions,
        max_tokens,
        batch_size,
        timeout_seconds: u64::from(timeout_seconds),
        query_prefix,
        passage_prefix,
    }
}

fn language_model(service: &InferenceService) -> settings::InferenceService {
    let InferenceService {
        url,
        model,
        models,
        access_secret,
        context_window_size,
        tokenizer,
        timeout_seconds,
        max_concurrent_requests,
        max_waiting_requests,
    } = service.clone();
    let defaults = settings::InferenceService::default();
    settings::InferenceService {
        url,
        model,
        models,
        api_key: access_secret.map(|_| Access::LanguageModel.file()),
        context_window_size,
        tokenizer: tokenizer.map(PathBuf::from),
        timeout_seconds: u64::from(timeout_seconds),
        max_concurrent_requests: max_concurrent_requests.unwrap_or(defaults.max_concurrent_requests),
        max_waiting_requests: max_waiting_requests.unwrap_or(defaults.max_waiting_requests),
        ..defaults
    }
}

fn retrieval_settings(retrieval: &Retrieval) -> settings::Retrieval {
    let Retrieval { max_distance, context_token_ratio, min_top_k, tokens_per_chunk } = retrieval.clone();
    #[expect(clippy::cast_possible_truncation, reason = "a distance is compared with 32-bit ones")]
    let max_distance = max_distance as f32;
    let defaults = settings::Retrieval::default();
    settings::Retrieval { max_distance, context_token_ratio, min_top_k, tokens_per_chunk, ..defaults }
}

/// Where some names are allowed, those of the Service are too: the Jobs of the Indexes and other pods use them.
fn host_names(allowed: &[String], identity: &Identity, defaults: &Defaults) -> Vec<String> {
    if allowed.is_empty() {
        return Vec::new();
    }
    let Identity { name, namespace, .. } = identity;
    let service =
        [String::new(), format!(".{namespace}"), format!(".{namespace}.svc")].map(|rest| format!("{name}{rest}"));
    let whole = format!("{name}.{namespace}.svc.{}", defaults.cluster_domain);
    allowed.iter().cloned().chain(service).chain([whole]).collect()
}

fn auth_settings(writes: Writes, identity: &Identity) -> settings::Auth {
    let defaults = settings::Auth::default();
    match writes {
        Writes::Open => defaults,
        Writes::Token => settings::Auth {
            write_token: Some(Access::Write.file()),
            write_token_source: Some(format!(
                "the Secret {} (key {WRITE_TOKEN}) in the namespace {}; auth.writes: open in the RAGEngine lets everybody write",
                identity.write_token(),
                identity.namespace
            )),
            ..defaults
        },
    }
}

/// The settings as a file: only what differs from the defaults, so that a server of another version, which may not know a newer
/// setting, is not given what nobody asked for.
///
/// # Errors
///
/// What serde says; no settings that were made from a specification are known that cannot be written.
pub fn settings_file(settings: &Settings) -> Result<String, serde_json::Error> {
    file(settings, &[])
}

/// The same for a server of another version: what a specification always says is written also where it is this version's default, because the other
/// one may have another.
///
/// # Errors
///
/// As [`settings_file`].
pub fn settings_file_of_another_version(settings: &Settings) -> Result<String, serde_json::Error> {
    file(settings, &ALWAYS_SAID)
}

/// What a specification always has a value for, since the first version.
const ALWAYS_SAID: [&str; 9] = [
    "/retrieval/maxDistance",
    "/retrieval/contextTokenRatio",
    "/retrieval/minTopK",
    "/retrieval/tokensPerChunk",
    "/inferenceService/timeoutSeconds",
    "/embedding/local/revision",
    "/embedding/local/hubUrl",
    "/embedding/remote/batchSize",
    "/embedding/remote/timeoutSeconds",
];

fn file(settings: &Settings, always: &[&str]) -> Result<String, serde_json::Error> {
    let (mut written, mut defaults) = (as_value(settings)?, as_value(&Settings::default())?);
    for said in always {
        // Nothing is equal to what is not there.
        if let Some(default) = defaults.pointer_mut(said) {
            *default = Value::Null;
        }
    }
    remove_equal(&mut written, &defaults);
    // JSON is YAML; this is the kind that people read.
    serde_saphyr::to_string(&written).map_err(|error| serde::ser::Error::custom(error.to_string()))
}

/// By way of text: a 32-bit number that became a 64-bit one at once would read 1.100000023841858.
fn as_value(settings: &Settings) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(settings)?)
}

fn remove_equal(written: &mut Value, defaults: &Value) {
    let (Value::Object(fields), Value::Object(defaults)) = (written, defaults) else { return };
    let kept = std::mem::take(fields).into_iter().filter_map(|(name, mut value)| {
        let default = defaults.get(&name);
        if default == Some(&value) {
            return None;
        }
        remove_equal(&mut value, default.unwrap_or(&Value::Null));
        Some((name, value))
    });
    *fields = kept.collect::<Map<_, _>>();
}

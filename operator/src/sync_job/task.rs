//! Builds the task file of a Job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use ragengine_operator_api::{RagEngine, TLS_AUTHORITY, TLS_CERTIFICATE, WRITE_TOKEN, Writes};
use ragengine_settings::SecretReference;
use ragengine_settings::sync::{IndexOptions, SyncTask};

use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::hash::hash;
use crate::scheme::service_url;

/// The folder where the task is mounted.
pub const TASK_FOLDER: &str = "/etc/ragengine/task";
/// The key of the task in its ConfigMap, and the name of the file.
pub const TASK_FILE: &str = "task.yaml";
/// The folder where the write token is mounted.
pub const TOKEN_FOLDER: &str = "/etc/ragengine/write";
/// The folder where the certificates of the server are mounted.
pub const SERVER_FOLDER: &str = "/etc/ragengine/server";
/// The keys of a Secret with the certificates of a server, without its private key.
pub const SERVER_CERTIFICATES: [&str; 2] = [TLS_AUTHORITY, TLS_CERTIFICATE];
/// The folder where the Secrets of sources are mounted.
pub const CREDENTIALS_FOLDER: &str = "/etc/ragengine/credentials";
/// The folder where the ConfigMaps and volumes of sources are mounted.
pub const SOURCES_FOLDER: &str = "/etc/ragengine/sources";

/// The number of characters of a task's hash in the name of its ConfigMap.
const MAX_HASH: usize = 7;

/// The ConfigMap with the task. The name contains a hash of the task, so an old ConfigMap is never taken for a new task
/// and the content never changes.
pub fn config_map(mut metadata: ObjectMeta, task: &SyncTask) -> Result<ConfigMap, BuildError> {
    let data = BTreeMap::from([(TASK_FILE.to_owned(), serde_saphyr::to_string(task)?)]);
    let name = metadata.name.unwrap_or_default();
    metadata.name = Some(format!("{name}-{}", &hash(&data)[..MAX_HASH]));
    Ok(ConfigMap { metadata, data: Some(data), immutable: Some(true), ..ConfigMap::default() })
}

/// The authority of the server, if it has TLS. A Secret without one has only the certificates of the server.
pub fn authority_files(engine: &RagEngine) -> Vec<PathBuf> {
    let files = SERVER_CERTIFICATES.map(|key| Path::new(SERVER_FOLDER).join(key));
    engine.spec.tls.iter().flat_map(|_| files.clone()).collect()
}

/// The write token of the server, if it needs one.
pub fn write_token(engine: &RagEngine) -> Option<SecretReference> {
    let has_token = engine.spec.auth.writes == Writes::Token;
    has_token.then(|| SecretReference::File(Path::new(TOKEN_FOLDER).join(WRITE_TOKEN)))
}

/// A task without sources: it deletes all documents of the owner from the index.
pub fn deletion(engine: &RagEngine, index: &str, owner: &str, sync_id: &str, defaults: &Defaults) -> SyncTask {
    SyncTask {
        server: service_url(engine, defaults),
        server_ca_files: authority_files(engine),
        write_token: write_token(engine),
        index: index.to_owned(),
        owner: owner.to_owned(),
        sync_id: sync_id.to_owned(),
        settings: IndexOptions::default(),
        confirmations: Vec::new(),
        allowed_ranges: Vec::new(),
        sources: Vec::new(),
    }
}

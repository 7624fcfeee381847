//! What a Job is to do, as the file that it reads.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use ragengine_operator_api::{RagEngine, WRITE_TOKEN, Writes};
use ragengine_settings::SecretReference;
use ragengine_settings::sync::{IndexOptions, SyncTask};

use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::hash::hash;
use crate::names::Identity;

/// Where the task is mounted.
pub const TASK_FOLDER: &str = "/etc/ragengine/task";
/// Its key in the ConfigMap, and its name there.
pub const TASK_FILE: &str = "task.yaml";
/// Where the write token is mounted.
pub(super) const TOKEN_FOLDER: &str = "/etc/ragengine/write";
/// Where the Secret of each source is mounted.
pub const CREDENTIALS_FOLDER: &str = "/etc/ragengine/credentials";
/// Where the ConfigMap or volume of each source is mounted.
pub const SOURCES_FOLDER: &str = "/etc/ragengine/sources";

/// So much of the hash of a task is in the name of its ConfigMap.
const MAX_HASH: usize = 7;

/// The task as a file. Another task has another name, so that what was left of one that was never done is not taken for this one, and it never changes.
pub fn config_map(mut metadata: ObjectMeta, task: &SyncTask) -> Result<ConfigMap, BuildError> {
    let data = BTreeMap::from([(TASK_FILE.to_owned(), serde_saphyr::to_string(task)?)]);
    let name = metadata.name.unwrap_or_default();
    metadata.name = Some(format!("{name}-{}", &hash(&data)[..MAX_HASH]));
    Ok(ConfigMap { metadata, data: Some(data), immutable: Some(true), ..ConfigMap::default() })
}

/// An index has nothing of an owner any more: a task without sources.
pub fn deletion(engine: &RagEngine, index: &str, owner: &str, sync_id: &str, defaults: &Defaults) -> SyncTask {
    let Identity { namespace, name, .. } = Identity::of(engine);
    let has_token = engine.spec.auth.writes == Writes::Token;
    SyncTask {
        server: format!("http://{name}.{namespace}.svc.{}", defaults.cluster_domain),
        write_token: has_token.then(|| SecretReference::File(Path::new(TOKEN_FOLDER).join(WRITE_TOKEN))),
        index: index.to_owned(),
        owner: owner.to_owned(),
        sync_id: sync_id.to_owned(),
        settings: IndexOptions::default(),
        confirmations: Vec::new(),
        allowed_ranges: Vec::new(),
        sources: Vec::new(),
    }
}

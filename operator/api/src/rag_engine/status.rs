use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;
use crate::condition::date_time;

/// Observed state of a RAGEngine.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RagEngineStatus {
    /// `Ready`: the server serves requests. `Progressing`: a change is not finished. `Degraded`: an error needs
    /// attention. `BackupSucceeded`, with `backup`: the last backup succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// `metadata.generation` that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Base URL for OpenAI clients in the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub endpoint: Option<String>,
    /// Number of pods, ready or not.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: u32,
    /// Number of pods that answer requests.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub ready_replicas: u32,
    /// Label selector of the pods, for autoscalers and disruption budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub selector: Option<String>,
    /// Number of indexes in the engine. Unset until the operator has queried the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub indexes: Option<u32>,
    /// Number of documents in all indexes. Unset until the operator has queried the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// Identity of the data directory. It changes if the volume is emptied or replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub data_id: Option<String>,
    /// Names of the nodes that were made for `compute.instanceType` and have joined the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub worker_nodes: Vec<String>,
    /// Backups of this engine by `backup`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<BackupStatus>,
}

/// Observed state of an engine's backups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupStatus {
    /// When the last good backup was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_successful_time: Option<Time>,
    /// Name of the last good backup. Unset if its pod was deleted before the operator could read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// Size of the last good backup in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// When the last Job ended that found no index to back up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_empty_time: Option<Time>,
    /// When the last failed backup ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_failure_time: Option<Time>,
    /// Why the last failed backup failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub last_failure_message: Option<String>,
}

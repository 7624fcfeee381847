use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;

/// Observed state of a RAGEngine.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RagEngineStatus {
    /// `Ready`: the server serves requests. `Progressing`: a change is not finished. `Degraded`: an error needs
    /// attention.
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
}

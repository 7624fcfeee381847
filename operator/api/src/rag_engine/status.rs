use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::Condition;

/// What a RAGEngine is.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RagEngineStatus {
    /// Whether it serves (`Ready`), whether something is not finished (`Progressing`), and whether something is wrong (`Degraded`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// The generation of the specification that all of this was found for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// The address that an OpenAI client in the cluster is given as its base URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub endpoint: Option<String>,
    /// The pods that are there, ready or not.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: u32,
    /// The labels that the pods are found by, for what scales or disrupts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub selector: Option<String>,
    /// The indexes that the engine has. Not set until it has been asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub indexes: Option<u32>,
    /// The documents of all indexes. Not set until it has been asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<u64>,
    /// The identity of the data directory: another one means that the volume was emptied or exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub data_id: Option<String>,
}

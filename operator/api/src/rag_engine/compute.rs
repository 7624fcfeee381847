use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nodes that the pod may run on. Nodes are chosen here, never made.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compute {
    /// The kind of machine. It is accepted, and nothing is done with it: choose nodes with `labelSelector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub instance_type: Option<String>,
    /// The labels that a node must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// How many nodes. It is accepted when it is 1: how many pods serve is said by `replicas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    #[x_kube(validation = Rule::new("self == 1").message("compute.count must be 1, because an engine is one pod: leave it out, and write replicas: 0 to stop the engine"))]
    pub count: Option<u32>,
    /// The names of nodes that are taken before others, where they have room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub preferred_nodes: Vec<String>,
}

/// Which nodes, by their labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels and their values; a node must have all of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub match_labels: BTreeMap<String, String>,
}

/// The schema of labels. Keys are bounded by Kubernetes itself.
pub(super) fn labels(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 63},
    })
}

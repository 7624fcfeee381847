use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Egress, LabelSelector};

/// Who may reach the server, and what it may reach. It takes a network plugin that enforces NetworkPolicies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkPolicy {
    /// The pods that may: each entry allows some. Empty: all pods of the same namespace. The operator always may.
    #[schemars(length(max = 32))]
    pub from: Vec<NetworkPeer>,
    /// What the server may reach. Not set: everything. It does not hold for the Jobs of the Indexes, which read the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// What the Jobs of the engine's Indexes may reach: their sources. Not set: everything. The engine itself they always may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_egress: Option<Egress>,
}

/// Pods, by their labels and those of their namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPeer {
    /// The labels of their namespace; `{}` is every namespace. Not set: the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// The labels of the pods. Not set: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Egress, LabelSelector};

/// Restrictions on network traffic of the server and of the Jobs of its Indexes. Requires a network plugin that
/// enforces NetworkPolicies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkPolicy {
    /// Pods that may connect to the server. The operator is always allowed. Default: all pods of the same namespace.
    #[schemars(length(max = 32))]
    pub from: Vec<NetworkPeer>,
    /// Destinations that the server may connect to. Does not apply to the Jobs of the Indexes: see `syncEgress`.
    /// Default: all destinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress: Option<Egress>,
    /// Destinations that the Jobs of the Indexes may connect to, such as their sources. The engine is always allowed.
    /// Default: all destinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync_egress: Option<Egress>,
}

/// Pods, selected by their labels and by the labels of their namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPeer {
    /// Labels of the pods' namespace; `{}` selects all namespaces. Default: the namespace of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    /// Labels of the pods. Default: all pods of the selected namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
}

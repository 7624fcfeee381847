use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes that the pod may run on. A node must match `instanceType` and `labelSelector`.
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.count) || self.count == 1 || (has(self.instanceType) && self.count > 1)").message(
        "compute.count must be 1 without compute.instanceType, because it is the number of nodes that are made: \
         remove it, and write the number of pods into replicas, or replicas: 0 to stop the engine"
    )
)]
pub struct Compute {
    /// Machine type of the node, such as `Standard_NC4as_T4_v3`: the label `node.kubernetes.io/instance-type`. With
    /// Karpenter in the cluster and a node class in the operator's settings, the operator makes nodes of this type by
    /// NodeClaims, only for this engine, and deletes them with it and with `replicas: 0`. Otherwise such nodes must
    /// exist. The pod tolerates the taints `sku=gpu` and `nvidia.com/gpu`. Default: any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = LABEL_VALUE))]
    pub instance_type: Option<String>,
    /// Labels that a node must have. Nodes that are made for `instanceType` get them, so most labels of `kubernetes.io`,
    /// `k8s.io` and `karpenter.sh` are refused then. Default: any node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// Number of nodes that are made for `instanceType`. The engine's pods run on these; other pods may use them too. Use
    /// `replicas` for the number of pods. At most `karpenter.maxNodes` of the operator's chart, if it makes them. Default:
    /// 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub count: Option<u32>,
    /// Names of nodes that the scheduler prefers. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub preferred_nodes: Vec<String>,
}

/// A value of a label that is not empty.
const LABEL_VALUE: &str = "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$";

/// A selector for labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels that must all match. Empty: everything matches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub match_labels: BTreeMap<String, String>,
}

/// The schema of labels. Kubernetes itself limits the length of the keys.
pub(super) fn labels(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 63},
    })
}

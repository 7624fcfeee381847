use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::compute::labels;
use crate::ResourceList;

/// What the server's container is given, and what it may use at most.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.requests.all(name, !(name in self.limits) || !isQuantity(string(self.requests[name])) || !isQuantity(string(self.limits[name])) || quantity(string(self.requests[name])).compareTo(quantity(string(self.limits[name]))) <= 0)")
    .message("resources.requests must not be more than resources.limits: raise the limit, or write a lower request (cpu: 500m and memory: 512Mi are requested unless requests says otherwise)"))]
pub struct Resources {
    /// What the scheduler keeps free for it.
    #[serde(default = "default_requests")]
    pub requests: ResourceList,
    /// What it may use at most. The memory has to hold the indexes.
    #[serde(default = "default_limits")]
    pub limits: ResourceList,
}

impl Default for Resources {
    fn default() -> Self {
        Self { requests: default_requests(), limits: default_limits() }
    }
}

fn default_requests() -> ResourceList {
    ResourceList::from([("cpu", "500m"), ("memory", "512Mi")])
}

fn default_limits() -> ResourceList {
    ResourceList::from([("memory", "2Gi")])
}

/// What the pod has besides what the operator gives it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplate {
    /// Labels and annotations of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PodTemplateMetadata>,
    /// Any field of a pod's `spec`: `nodeSelector`, `tolerations`, `affinity`, `imagePullSecrets`, `volumes`, and in `containers`, under the name `ragengine`, `env` and `volumeMounts`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "any_object")]
    pub spec: Map<String, Value>,
}

/// Labels and annotations of the pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplateMetadata {
    /// Labels. Those that the operator finds its pods by stay as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "annotations")]
    pub annotations: BTreeMap<String, String>,
}

fn annotations(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 65536},
    })
}

/// A pod's whole schema would be larger than a definition may be.
fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "maxProperties": 64, "x-kubernetes-preserve-unknown-fields": true})
}

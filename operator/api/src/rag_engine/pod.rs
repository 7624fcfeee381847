use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::compute::labels;
use crate::ResourceList;

/// CPU and memory of the server's container.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "self.requests.all(name, !(name in self.limits) || !isQuantity(string(self.requests[name])) || \
         !isQuantity(string(self.limits[name])) || \
         quantity(string(self.requests[name])).compareTo(quantity(string(self.limits[name]))) <= 0)"
    )
    .message(
        "resources.requests must not be more than resources.limits: raise the limit or lower the request (defaults: \
         cpu: 500m, memory: 512Mi)"
    )
)]
pub struct Resources {
    /// Amounts that the scheduler reserves. Default: `cpu: 500m`, `memory: 512Mi`.
    #[serde(default = "default_requests")]
    pub requests: ResourceList,
    /// Maximum amounts. The indexes must fit into the memory. Default: `memory: 2Gi`.
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

/// Additions to the pod that the operator generates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplate {
    /// Additional labels and annotations of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PodTemplateMetadata>,
    /// Any field of a pod's `spec`, such as `tolerations`, `imagePullSecrets` or `volumes`. For `env` and
    /// `volumeMounts` of the server, add a container with the name `ragengine`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "any_object")]
    pub spec: Map<String, Value>,
}

/// Additional labels and annotations of the pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplateMetadata {
    /// Labels of the pod. The labels that the operator selects its pods by cannot be changed. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "labels")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod. Default: none.
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

/// The full schema of a pod would exceed the size limit of a definition.
fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "object", "maxProperties": 64, "x-kubernetes-preserve-unknown-fields": true})
}

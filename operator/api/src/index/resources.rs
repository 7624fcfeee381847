use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::ResourceList;

/// CPU and memory of the container that runs a synchronisation.
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
         cpu: 100m, memory: 64Mi)"
    )
)]
pub struct SyncResources {
    /// Amounts that the scheduler reserves. Default: `cpu: 100m`, `memory: 64Mi`.
    #[serde(default = "default_requests")]
    pub requests: ResourceList,
    /// Maximum amounts. 128Mi of memory are enough for any file, and 1Mi more for each 1,000 documents of the largest
    /// source. Default: `memory: 192Mi`.
    #[serde(default = "default_limits")]
    pub limits: ResourceList,
}

impl Default for SyncResources {
    fn default() -> Self {
        Self { requests: default_requests(), limits: default_limits() }
    }
}

fn default_requests() -> ResourceList {
    ResourceList::from([("cpu", "100m"), ("memory", "64Mi")])
}

fn default_limits() -> ResourceList {
    ResourceList::from([("memory", "192Mi")])
}

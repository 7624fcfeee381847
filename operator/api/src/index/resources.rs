use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::ResourceList;

/// What the container of a synchronisation is given, and what it may use at most.
#[derive(KubeSchema, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.requests.all(name, !(name in self.limits) || !isQuantity(string(self.requests[name])) || !isQuantity(string(self.limits[name])) || quantity(string(self.requests[name])).compareTo(quantity(string(self.limits[name]))) <= 0)")
    .message("resources.requests must not be more than resources.limits: raise the limit, or write a lower request (cpu: 100m and memory: 64Mi are requested unless requests says otherwise)"))]
pub struct SyncResources {
    /// What the scheduler keeps free for it.
    #[serde(default = "default_requests")]
    pub requests: ResourceList,
    /// What it may use at most. 128Mi are enough, whatever the files; a little is left over.
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

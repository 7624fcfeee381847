use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// A number of pods that follows their load, by a HorizontalPodAutoscaler. The cluster needs a metrics server, and the
/// containers of the pod need requests for CPU.
#[derive(KubeSchema, Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.minReplicas <= self.maxReplicas").message(
        "autoscaling.minReplicas must not be more than autoscaling.maxReplicas: lower minReplicas, or raise maxReplicas"
    )
)]
pub struct Autoscaling {
    /// Minimum number of pods. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub min_replicas: u32,
    /// Maximum number of pods. More than 1 needs what `replicas` above 1 needs.
    #[schemars(range(min = 1, max = 1000))]
    pub max_replicas: u32,
    /// CPU that a pod uses on average, in percent of its request. With more, pods are added. Default: 80.
    // The name of the field in `autoscaling/v1`.
    #[serde(rename = "targetCPUUtilizationPercentage", default = "eighty")]
    #[schemars(range(min = 1, max = 1000))]
    pub target_cpu_utilization_percentage: u32,
}

fn one() -> u32 {
    1
}

fn eighty() -> u32 {
    80
}

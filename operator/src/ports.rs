//! The ports of a server and their names.

use k8s_openapi::api::core::v1::Pod;

/// The port for clients in the pod.
pub const PORT: u16 = 5000;
/// The port for clients of the Service, also with TLS.
pub const CLIENTS_PORT: u16 = 80;
/// The name of the port for clients in the pod and in the Service.
pub const PORT_NAME: &str = "http";
/// The port for probes and monitoring.
pub const ADMIN_PORT: u16 = 5001;
/// The name of that port in the pod and in the Service.
pub const ADMIN_PORT_NAME: &str = "admin";
/// The pod label that records the port for probes and monitoring, because the caches keep no pod specifications.
pub const ADMIN_PORT_LABEL: &str = "ragengine.dev/admin-port";

/// The port of a pod's status endpoint. A pod may be older than the current specification.
pub fn admin_port_of(pod: &Pod) -> u16 {
    let labels = pod.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(ADMIN_PORT_LABEL)?.parse().ok()).unwrap_or(PORT)
}

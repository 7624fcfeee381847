//! The ports of a server, as its pod, its Service and its policies name them.

use k8s_openapi::api::core::v1::Pod;

/// The port that the server listens on.
pub const PORT: u16 = 5000;
/// Its name in the pod and in the Service.
pub const PORT_NAME: &str = "http";
/// The port of its listener for probes and monitors.
pub const ADMIN_PORT: u16 = 5001;
/// The name of the port for them, in the pod and in the Service.
pub const ADMIN_PORT_NAME: &str = "admin";
/// The label by which a pod says where it is asked: of its specification the caches keep nothing.
pub const ADMIN_PORT_LABEL: &str = "ragengine.dev/admin-port";

/// The port at which the server in a pod is asked how it is. A pod may be older than what is asked for now.
pub fn admin_port_of(pod: &Pod) -> u16 {
    let labels = pod.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(ADMIN_PORT_LABEL)?.parse().ok()).unwrap_or(PORT)
}

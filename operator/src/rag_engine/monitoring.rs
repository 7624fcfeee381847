//! Where probes, monitors and the operator ask a server how it is.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use ragengine_operator_api::Image;

use super::settings::{ADMIN_PORT, PORT};
use super::validate::Defaults;
use crate::names::CONTAINER;

/// The name of the port for it, in the pod and in the Service.
pub const ADMIN_PORT_NAME: &str = "admin";

const ADMIN_PORT_LABEL: &str = "ragengine.dev/admin-port";

/// The listener that answers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitoring {
    /// One of its own, which the operator asks the server for.
    OwnListener,
    /// The one for everybody. A server of another version may have no other, and refuse a setting that it does not know.
    SameListener,
}

impl Monitoring {
    /// Whether the server is of the operator's own version, as far as an image says it.
    pub fn of(image: &Image, users_pod: &PodSpec, defaults: &Defaults) -> Self {
        let names_image = users_pod.containers.iter().any(|users| users.name == CONTAINER && users.image.is_some());
        if defaults.server_image.is_of_engine(image) && !names_image { Self::OwnListener } else { Self::SameListener }
    }
}

/// The label by which a pod says where it is asked: of its specification the caches keep nothing.
pub fn label(monitoring: Monitoring) -> Option<(String, String)> {
    (monitoring == Monitoring::OwnListener).then(|| (ADMIN_PORT_LABEL.to_owned(), ADMIN_PORT.to_string()))
}

/// The port at which the server in a pod is asked how it is. A pod may be older than what is asked for now.
pub fn port_of(pod: &Pod) -> u16 {
    let labels = pod.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(ADMIN_PORT_LABEL)?.parse().ok()).unwrap_or(PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_asked_at_the_port_that_it_says() {
        let pod = |monitoring| {
            let mut pod = Pod::default();
            pod.metadata.labels = Some(label(monitoring).into_iter().collect());
            pod
        };
        assert_eq!(port_of(&pod(Monitoring::OwnListener)), 5001);
        assert_eq!(port_of(&pod(Monitoring::SameListener)), 5000);
        assert_eq!(port_of(&Pod::default()), 5000);
    }
}

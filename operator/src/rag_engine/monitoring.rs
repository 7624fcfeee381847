//! Where probes, monitors and the operator ask a server how it is.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use ragengine_operator_api::Image;

use super::settings::PORT;
use super::validate::Defaults;
use crate::names::CONTAINER;

/// The name of the port for it, in the pod and in the Service.
pub const ADMIN_PORT_NAME: &str = "admin";

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
        let is_own_tag = image.tag.as_deref().is_none_or(|tag| tag.is_empty() || tag == defaults.image_tag);
        let names_image = users_pod.containers.iter().any(|users| users.name == CONTAINER && users.image.is_some());
        if is_own_tag && !names_image { Self::OwnListener } else { Self::SameListener }
    }
}

/// The port at which the server in a pod is asked how it is. A pod may be older than what is asked for.
pub fn port_of(pod: &Pod) -> u16 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let ports =
        containers.filter(|container| container.name == CONTAINER).flat_map(|server| server.ports.iter().flatten());
    let admin = ports.filter(|port| port.name.as_deref() == Some(ADMIN_PORT_NAME)).map(|port| port.container_port);
    admin.filter_map(|port| u16::try_from(port).ok()).next().unwrap_or(PORT)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Container, ContainerPort};

    use super::*;

    #[test]
    fn a_pod_is_asked_at_the_port_that_it_has() {
        let pod = |container: &str, ports: &[(&str, i32)]| {
            let port = |(name, port): &(&str, i32)| ContainerPort {
                name: Some((*name).to_owned()),
                container_port: *port,
                ..ContainerPort::default()
            };
            let ports = Some(ports.iter().map(port).collect());
            let server = Container { name: container.to_owned(), ports, ..Container::default() };
            Pod { spec: Some(PodSpec { containers: vec![server], ..PodSpec::default() }), ..Pod::default() }
        };
        assert_eq!(port_of(&pod(CONTAINER, &[("http", 5000), ("admin", 5001)])), 5001);
        assert_eq!(port_of(&pod(CONTAINER, &[("http", 5000)])), 5000);
        assert_eq!(port_of(&pod("other", &[("admin", 9000)])), 5000);
        assert_eq!(port_of(&Pod::default()), 5000);
    }
}

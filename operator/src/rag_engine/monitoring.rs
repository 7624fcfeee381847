//! The listener that probes, monitoring and the operator use.

use k8s_openapi::api::apps::v1::Deployment;
use ragengine_operator_api::RagEngineSpec;
use serde_json::Value;

use crate::defaults::Defaults;
use crate::names::CONTAINER;
use crate::ports::{ADMIN_PORT, ADMIN_PORT_LABEL, ADMIN_PORT_NAME, PORT_NAME};

/// The listener for probes and monitoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitoring {
    /// A separate listener, which the operator configures.
    OwnListener,
    /// The listener for clients. A server of another version may have no other, and may reject a setting that it does
    /// not know.
    SameListener,
}

impl Monitoring {
    /// Chooses the listener: separate if the server has the operator's own version, as far as the image shows. An image
    /// in the template counts too, even if the template is invalid.
    pub fn of(spec: &RagEngineSpec, defaults: &Defaults) -> Self {
        let template = spec.pod_template.as_ref().map(|template| &template.spec);
        let containers = template.and_then(|template| template.get("containers")).and_then(Value::as_array);
        let names_image = |users: &Value| users["name"] == CONTAINER && users["image"].is_string();
        let is_own = !containers.into_iter().flatten().any(names_image);
        if defaults.server_image.is_of_engine(&spec.image) && is_own { Self::OwnListener } else { Self::SameListener }
    }

    /// The listener of a running server.
    pub fn of_running(deployment: &Deployment) -> Self {
        let pod = deployment.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
        let has_label =
            pod.and_then(|pod| pod.labels.as_ref()).is_some_and(|labels| labels.contains_key(ADMIN_PORT_LABEL));
        if has_label { Self::OwnListener } else { Self::SameListener }
    }

    /// The name of the container port for probes and monitoring.
    pub fn port_name(self) -> &'static str {
        match self {
            Self::OwnListener => ADMIN_PORT_NAME,
            Self::SameListener => PORT_NAME,
        }
    }

    /// The pod label that records the port for the operator.
    pub fn label(self) -> Option<(String, String)> {
        (self == Self::OwnListener).then(|| (ADMIN_PORT_LABEL.to_owned(), ADMIN_PORT.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;
    use crate::ports::admin_port_of;

    #[test]
    fn the_port_of_a_pod_is_in_its_label() {
        let pod = |monitoring: Monitoring| {
            let mut pod = Pod::default();
            pod.metadata.labels = Some(monitoring.label().into_iter().collect());
            pod
        };
        assert_eq!(admin_port_of(&pod(Monitoring::OwnListener)), 5001);
        assert_eq!(admin_port_of(&pod(Monitoring::SameListener)), 5000);
        assert_eq!(admin_port_of(&Pod::default()), 5000);
    }
}

use k8s_openapi::api::core::v1::{Service, ServiceAccount, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::pod::PORT_NAME;
use crate::names::Identity;

/// The Service: port 80, as the peer's clients know it.
pub(super) fn service(identity: &Identity) -> Service {
    let port = ServicePort {
        name: Some(PORT_NAME.to_owned()),
        port: 80,
        target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    Service {
        metadata: identity.owned(&identity.name),
        spec: Some(ServiceSpec {
            selector: Some(identity.selector()),
            ports: Some(vec![port]),
            type_: Some("ClusterIP".to_owned()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// An account that may do nothing and has no token: the server never talks to Kubernetes.
pub(super) fn service_account(identity: &Identity) -> ServiceAccount {
    ServiceAccount {
        metadata: identity.owned(&identity.name),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

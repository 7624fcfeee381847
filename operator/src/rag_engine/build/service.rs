use k8s_openapi::api::core::v1::{Service, ServiceAccount, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::names::Identity;
use crate::ports::{ADMIN_PORT, ADMIN_PORT_NAME, PORT_NAME};
use crate::rag_engine::monitoring::Monitoring;

/// The port of the Service for clients.
pub(super) const CLIENTS_PORT: u16 = 80;

/// The Service: port 80 for clients, and a second port for monitoring.
pub(super) fn service(identity: &Identity, monitoring: Monitoring) -> Service {
    let port = |name: &str, port: u16, target: &str| ServicePort {
        name: Some(name.to_owned()),
        port: i32::from(port),
        target_port: Some(IntOrString::String(target.to_owned())),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    let admin = port(ADMIN_PORT_NAME, ADMIN_PORT, monitoring.port_name());
    Service {
        metadata: identity.owned(&identity.name),
        spec: Some(ServiceSpec {
            selector: Some(identity.selector()),
            ports: Some(vec![port(PORT_NAME, CLIENTS_PORT, PORT_NAME), admin]),
            type_: Some("ClusterIP".to_owned()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// A ServiceAccount without permissions and without a mounted token, because the server never uses the Kubernetes API.
pub(super) fn service_account(identity: &Identity) -> ServiceAccount {
    ServiceAccount {
        metadata: identity.owned(&identity.name),
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

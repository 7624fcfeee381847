use k8s_openapi::api::core::v1::{Service, ServiceAccount, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::names::Identity;
use crate::ports::{ADMIN_PORT, ADMIN_PORT_NAME, CLIENTS_PORT, PORT_NAME};
use crate::rag_engine::monitoring::Monitoring;
use crate::scheme::Scheme;

/// The Service: port 80 for clients, and a second port for monitoring.
pub(super) fn service(identity: &Identity, monitoring: Monitoring, scheme: Scheme) -> Service {
    let port = |name: &str, port: u16, target: &str| ServicePort {
        name: Some(name.to_owned()),
        port: i32::from(port),
        target_port: Some(IntOrString::String(target.to_owned())),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    let clients = ServicePort {
        // Service meshes and some Ingress controllers would take a port with this name for plain HTTP.
        app_protocol: (scheme == Scheme::Https).then(|| scheme.to_string()),
        ..port(PORT_NAME, CLIENTS_PORT, PORT_NAME)
    };
    let admin = port(ADMIN_PORT_NAME, ADMIN_PORT, monitoring.port_name());
    Service {
        metadata: identity.owned(&identity.name),
        spec: Some(ServiceSpec {
            selector: Some(identity.selector()),
            ports: Some(vec![clients, admin]),
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

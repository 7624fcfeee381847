//! What lets clients from outside of the cluster reach the Service.

use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec,
    IngressTLS, ServiceBackendPort,
};
use kube::api::ObjectMeta;
use ragengine_operator_api::{self as api, ParentReference};
use serde_json::{Value, json};

use crate::gateway::{GROUP, HttpRoute};
use crate::ports::CLIENTS_PORT;
use crate::rag_engine::observe::Observed;
use crate::rag_engine::validate::Validated;

/// The Ingress, if the specification requests one.
pub(super) fn ingress(validated: &Validated) -> Option<Ingress> {
    let api::Ingress { host, class_name, tls_secret_name, annotations } = validated.spec.ingress.clone()?;
    let identity = &validated.identity;
    let backend = IngressServiceBackend {
        name: identity.name.clone(),
        port: Some(ServiceBackendPort { number: Some(CLIENTS_PORT.into()), name: None }),
    };
    let path = HTTPIngressPath {
        path: Some("/".to_owned()),
        path_type: "Prefix".to_owned(),
        backend: IngressBackend { service: Some(backend), resource: None },
    };
    let tls =
        tls_secret_name.map(|secret| vec![IngressTLS { hosts: Some(vec![host.clone()]), secret_name: Some(secret) }]);
    Some(Ingress {
        metadata: ObjectMeta {
            annotations: (!annotations.is_empty()).then_some(annotations),
            ..identity.owned(&identity.name)
        },
        spec: Some(IngressSpec {
            ingress_class_name: class_name,
            rules: Some(vec![IngressRule { host: Some(host), http: Some(HTTPIngressRuleValue { paths: vec![path] }) }]),
            tls,
            ..IngressSpec::default()
        }),
        status: None,
    })
}

/// The HTTPRoute, if the specification requests one and the cluster has the API. The defaults of the API are written,
/// because a list is compared as a whole.
pub(super) fn http_route(validated: &Validated, observed: &Observed) -> Option<HttpRoute> {
    let api::HttpRoute { parent_refs, hostnames } =
        validated.spec.http_route.as_ref().filter(|_| observed.has_gateways)?;
    let identity = &validated.identity;
    let backend = json!({"group": "", "kind": "Service", "name": identity.name, "port": CLIENTS_PORT, "weight": 1});
    let everything = json!({"path": {"type": "PathPrefix", "value": "/"}});
    let mut spec = json!({
        "parentRefs": parent_refs.iter().map(gateway).collect::<Vec<_>>(),
        "rules": [{"matches": [everything], "backendRefs": [backend]}],
    });
    if !hostnames.is_empty() {
        spec["hostnames"] = json!(hostnames);
    }
    Some(HttpRoute::new(identity.owned(&identity.name), spec))
}

fn gateway(parent: &ParentReference) -> Value {
    let ParentReference { name, namespace, section_name } = parent;
    let mut reference = json!({"group": GROUP, "kind": "Gateway", "name": name});
    for (field, value) in [("namespace", namespace), ("sectionName", section_name)] {
        if let Some(value) = value {
            reference[field] = json!(value);
        }
    }
    reference
}

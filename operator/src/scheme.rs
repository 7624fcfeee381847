//! Whether a server speaks HTTP or HTTPS on its port for clients.

use std::fmt;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ObjectMeta;
use ragengine_operator_api::{RagEngine, RagEngineSpec};

use crate::defaults::Defaults;
use crate::names::Identity;
use crate::ports::CLIENTS_PORT;

/// The pod label of servers with TLS, because a pod may be older than the current specification.
const LABEL: (&str, &str) = ("ragengine.dev/scheme", "https");

/// The scheme of the port for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Plain HTTP.
    Http,
    /// HTTP over TLS.
    Https,
}

impl Scheme {
    /// The scheme that a specification asks for.
    pub fn of(spec: &RagEngineSpec) -> Self {
        if spec.tls.is_some() { Self::Https } else { Self::Http }
    }

    /// The scheme of a running server.
    pub fn of_running(deployment: &Deployment) -> Self {
        let pod = deployment.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
        pod.map_or(Self::Http, Self::of_pod)
    }

    /// The scheme of the server in a pod with this metadata.
    pub fn of_pod(metadata: &ObjectMeta) -> Self {
        let label = metadata.labels.as_ref().and_then(|labels| labels.get(LABEL.0));
        if label.is_some_and(|label| label == LABEL.1) { Self::Https } else { Self::Http }
    }

    /// The pod label that records it for the operator.
    pub fn label(self) -> Option<(String, String)> {
        (self == Self::Https).then(|| (LABEL.0.to_owned(), LABEL.1.to_owned()))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// The base URL of an engine's Service.
pub fn service_url(engine: &RagEngine, defaults: &Defaults) -> String {
    let Identity { name, namespace, .. } = Identity::of(engine);
    // The port is written only where it is not that of the scheme.
    match Scheme::of(&engine.spec) {
        Scheme::Http => format!("http://{name}.{namespace}.svc.{}", defaults.cluster_domain),
        Scheme::Https => format!("https://{name}.{namespace}.svc.{}:{CLIENTS_PORT}", defaults.cluster_domain),
    }
}

//! A scripted language model and embedding model: a pod of `cluster-client` with a Service.

use std::collections::BTreeMap;

use hyper::Method;
use k8s_openapi::api::core::v1::{Pod, Service, ServicePort, ServiceSpec};
use kube::api::ObjectMeta;
use serde_json::Value;

use crate::forward::Connection;
use crate::namespace::Namespace;
use crate::{Error, pod};

/// The name of the pod and of the Service.
const UPSTREAM: &str = "upstream";
const PORT: u16 = 8000;

/// A scripted model in a namespace.
pub struct Upstream<'a> {
    namespace: &'a Namespace,
}

impl<'a> Upstream<'a> {
    /// Starts the model. It accepts only this key.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the pod does not start in time.
    pub async fn start(namespace: &'a Namespace, key: &str, answer: &str) -> Result<Self, Error> {
        let labels = BTreeMap::from([("app".to_owned(), UPSTREAM.to_owned())]);
        let mut pod = pod::client_pod(UPSTREAM, &["upstream", "--key", key, "--answer", answer])?;
        pod.metadata =
            ObjectMeta { name: Some(UPSTREAM.to_owned()), labels: Some(labels.clone()), ..ObjectMeta::default() };
        namespace.create_object(&pod).await?;
        let port = ServicePort { port: i32::from(PORT), ..ServicePort::default() };
        let service = Service {
            metadata: ObjectMeta { name: Some(UPSTREAM.to_owned()), ..ObjectMeta::default() },
            spec: Some(ServiceSpec { selector: Some(labels), ports: Some(vec![port]), ..ServiceSpec::default() }),
            status: None,
        };
        namespace.create_object(&service).await?;
        let is_running = |pod: &Pod| if pod::is_ready(pod) { Ok(()) } else { Err(pod::describe(pod)) };
        namespace.until(UPSTREAM, "the scripted models run", is_running).await?;
        Ok(Self { namespace })
    }

    /// Its base URL in the cluster, which ends with `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}:{PORT}/v1", self.namespace.host(UPSTREAM))
    }

    /// Returns the recorded requests at a path, with the header `authorization` and the `body` of each.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn requests(&self, path: &str) -> Result<Vec<Value>, Error> {
        let mut connection = Connection::open(&self.namespace.api(), UPSTREAM, PORT).await?;
        let asked = connection.send(Method::GET, "/requests", None).await?.ok()?;
        let asked = asked.as_array().cloned().unwrap_or_default();
        Ok(asked.into_iter().filter(|request| request["path"] == path).collect())
    }
}

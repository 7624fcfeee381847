//! The server as a plain Deployment, with a Service, a ConfigMap of settings, and a volume.

mod objects;

use hyper::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, ObjectMeta};
pub use objects::{PORT, SERVER, Volume};
use serde_json::{Value, json};

use crate::forward::{Connection, Reply};
use crate::namespace::Namespace;
use crate::{Error, pod, turns, wait};

/// A server in a namespace.
pub struct Server<'a> {
    namespace: &'a Namespace,
    pods: Api<Pod>,
}

impl<'a> Server<'a> {
    /// Installs a server with this volume and waits until its pod is ready.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or the server is not ready in time.
    pub async fn start(namespace: &'a Namespace, volume: Volume) -> Result<Self, Error> {
        let _turn = turns::to_start().await?;
        let server = Self::install(namespace, volume).await?;
        server.ready_pod().await?;
        let deployments = namespace.api::<Deployment>();
        wait::until_object(&deployments, SERVER, "the Deployment is available", |deployment| {
            let ready = deployment.status.as_ref().and_then(|status| status.available_replicas);
            if ready == Some(1) { Ok(()) } else { Err(format!("{} replicas are available", ready.unwrap_or(0))) }
        })
        .await?;
        Ok(server)
    }

    /// Installs a server with this volume.
    ///
    /// # Errors
    ///
    /// When the cluster refuses.
    pub async fn install(namespace: &'a Namespace, volume: Volume) -> Result<Self, Error> {
        namespace.create_object(&objects::settings()).await?;
        if volume == Volume::Claim {
            namespace.create_object(&objects::claim()).await?;
        }
        namespace.create_object(&objects::service()).await?;
        namespace.create_object(&objects::deployment(volume)?).await?;
        Ok(Self { namespace, pods: namespace.api() })
    }

    /// Its pods.
    pub fn pods(&self) -> &Api<Pod> {
        &self.pods
    }

    /// Its address in the cluster.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}:{PORT}{path}", self.namespace.host(SERVER))
    }

    /// Waits for a pod that is ready.
    ///
    /// # Errors
    ///
    /// When there is no such pod in time.
    pub async fn ready_pod(&self) -> Result<Pod, Error> {
        self.pod_that("a pod of the server is ready", |candidate| {
            candidate.metadata.deletion_timestamp.is_none() && pod::is_ready(candidate)
        })
        .await
    }

    /// Waits for a pod whose program runs, ready or not.
    ///
    /// # Errors
    ///
    /// When there is no such pod in time.
    pub async fn running_pod(&self) -> Result<Pod, Error> {
        self.pod_that("a pod of the server runs", |candidate| {
            pod::container_status(candidate, SERVER)
                .and_then(|status| status.state.as_ref())
                .is_some_and(|state| state.running.is_some())
        })
        .await
    }

    /// Waits for a pod that matches.
    ///
    /// # Errors
    ///
    /// When there is no such pod in time.
    pub async fn pod_that(&self, wanted: &str, matches: impl Fn(&Pod) -> bool) -> Result<Pod, Error> {
        let of_server = ListParams::default().labels(&format!("{}={SERVER}", objects::LABEL));
        wait::until(wanted, async || {
            let pods = self.pods.list(&of_server).await.map_err(|error| error.to_string())?.items;
            let seen = pods.iter().map(pod::describe).collect::<Vec<_>>().join(", ");
            pods.into_iter().find(&matches).ok_or(if seen.is_empty() { "no pod".to_owned() } else { seen })
        })
        .await
    }

    /// A connection to this pod of it.
    ///
    /// # Errors
    ///
    /// When the pod cannot be reached.
    pub async fn connect(&self, pod: &Pod) -> Result<Connection, Error> {
        Connection::open(&self.pods, pod.metadata.name.as_deref().unwrap_or_default(), PORT).await
    }

    /// A request without a body, to this pod of it.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn get(&self, pod: &Pod, path: &str) -> Result<Reply, Error> {
        self.connect(pod).await?.send(Method::GET, path, None).await
    }

    /// A request with a body, to this pod of it.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn post(&self, pod: &Pod, path: &str, body: &Value) -> Result<Reply, Error> {
        self.connect(pod).await?.send(Method::POST, path, Some(body)).await
    }
}

/// Documents given as (doc_id, text), for an index.
pub fn documents(index: &str, documents: &[(&str, &str)]) -> Value {
    let documents: Vec<Value> =
        documents.iter().map(|(doc_id, text)| json!({"doc_id": doc_id, "text": text})).collect();
    json!({"index_name": index, "documents": documents})
}

/// A search.
pub fn retrieval(index: &str, query: &str) -> Value {
    json!({"index_name": index, "query": query})
}

/// A question for the built-in model.
pub fn question(index: &str, question: &str) -> Value {
    json!({"model": "extractive", "index_name": index, "messages": [{"role": "user", "content": question}]})
}

fn metadata(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

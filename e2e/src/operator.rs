//! The operator, installed by Helm. Each test has its own operator, in its own namespace, which watches only the test's
//! namespace.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde_json::{Map, Value, json};

use crate::forward::{Connection, Reply};
use crate::helm::{Release, image_values};
use crate::metrics::Metrics;
use crate::namespace::{Namespace, PodSecurity};
use crate::{Error, cluster, definition, pod, wait};

pub use crate::names::OPERATOR;

/// The port of /healthz, /readyz and /metrics.
pub const ADMIN_PORT: u16 = 8080;

/// The name of the Helm release. The name [`OPERATOR`] is derived from it.
const RELEASE: &str = "ragengine";

/// An installed operator.
pub struct Operator {
    /// The namespace of the operator.
    pub namespace: Namespace,
    /// The Helm release.
    pub release: Release,
    values: Map<String, Value>,
}

impl Operator {
    /// Installs an operator that watches one namespace, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// When Helm or the cluster refuses, or it is not ready in time.
    pub async fn install(watched: &Namespace) -> Result<Self, Error> {
        Self::install_with(watched, &json!({})).await
    }

    /// Installs an operator with these values of the chart, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// When Helm or the cluster refuses, or it is not ready in time.
    pub async fn install_with(watched: &Namespace, values: &Value) -> Result<Self, Error> {
        let operator = Self::prepare(watched, values).await?;
        operator.release.install(&operator.values()).await?;
        operator.until_available().await?;
        Ok(operator)
    }

    /// Creates the namespace and the values, without installing the chart.
    ///
    /// # Errors
    ///
    /// When the cluster refuses, or another operator would interfere.
    pub async fn prepare(watched: &Namespace, values: &Value) -> Result<Self, Error> {
        refuse_another(watched).await?;
        definition::install(&watched.client).await?;
        let namespace = watched.beside("operator", PodSecurity::Restricted).await?;
        let release = Release { name: RELEASE.to_owned(), namespace: namespace.name.clone() };
        // Operators share the cluster-wide roles and definitions, so the chart must not install them.
        let defaults = json!({
            "image": image_values(&cluster::operator_image()?)?,
            "serverImage": image_values(&cluster::server_image()?)?,
            "watchNamespaces": [watched.name],
            "crds": {"install": false},
            "rbac": {"aggregate": false},
        });
        let mut operator = Self { namespace, release, values: Map::new() };
        operator.set(&defaults);
        operator.set(values);
        Ok(operator)
    }

    /// Adds values of the chart, or replaces them.
    pub fn set(&mut self, values: &Value) {
        self.values.extend(values.as_object().cloned().unwrap_or_default());
    }

    /// The values of the chart.
    pub fn values(&self) -> Value {
        Value::Object(self.values.clone())
    }

    /// Waits until the number of current and ready pods is the expected one.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_available(&self) -> Result<(), Error> {
        self.namespace
            .until::<Deployment, _>(OPERATOR, "the operator is available", |deployment| {
                let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
                let status = deployment.status.clone().unwrap_or_default();
                let is_current = status.observed_generation == deployment.metadata.generation;
                let counts = [status.replicas, status.updated_replicas, status.available_replicas];
                let is_available = is_current && counts.iter().all(|count| count.or(Some(0)) == wanted);
                if is_available { Ok(()) } else { Err(format!("{status:?}")) }
            })
            .await
    }

    /// The pods of the operator's namespace.
    pub fn pods(&self) -> Api<Pod> {
        self.namespace.api()
    }

    /// Lists the pods that are not being deleted.
    ///
    /// # Errors
    ///
    /// When the request to the cluster fails.
    pub async fn living_pods(&self) -> Result<Vec<Pod>, Error> {
        let of_operator = ListParams::default().labels(&format!("app.kubernetes.io/name={OPERATOR}"));
        let listing = self.pods().list(&of_operator).await;
        let pods = listing.map_err(Error::kubernetes("listing the operator's pods"))?.items;
        Ok(pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).collect())
    }

    /// Returns the name of the pod that holds the lease.
    ///
    /// # Errors
    ///
    /// When the request to the cluster fails.
    pub async fn holder(&self) -> Result<Option<String>, Error> {
        let lease = self.namespace.api::<Lease>().get_opt(OPERATOR).await;
        let lease = lease.map_err(Error::kubernetes("reading the operator's lease"))?;
        Ok(lease.and_then(|lease| lease.spec?.holder_identity).filter(|holder| !holder.is_empty()))
    }

    /// Waits for a ready pod that holds the lease.
    ///
    /// # Errors
    ///
    /// When there is no such pod in time.
    pub async fn acting_pod(&self) -> Result<Pod, Error> {
        wait::until("a pod of the operator holds the lease", async || {
            let holder = self.holder().await.map_err(|error| error.to_string())?;
            let pods = self.living_pods().await.map_err(|error| error.to_string())?;
            let seen = pods.iter().map(pod::describe).collect::<Vec<_>>().join(", ");
            let acting = pods.into_iter().find(|pod| pod.metadata.name == holder && pod::is_ready(pod));
            acting.ok_or_else(|| format!("{holder:?} holds it; {seen}"))
        })
        .await
    }

    /// Sends a GET to the pod that holds the lease.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn get(&self, path: &str) -> Result<Reply, Error> {
        let pod = self.acting_pod().await?.metadata.name.unwrap_or_default();
        Connection::open(&self.pods(), &pod, ADMIN_PORT).await?.send(hyper::Method::GET, path, None).await
    }

    /// Reads the metrics of the pod that holds the lease.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        Ok(Metrics::parse(&self.get("/metrics").await?.text))
    }
}

/// Fails if another operator watches all namespaces: operators of different versions or settings would undo each
/// other's changes.
async fn refuse_another(watched: &Namespace) -> Result<(), Error> {
    let of_operator = ListParams::default().labels(&format!("app.kubernetes.io/name={OPERATOR}"));
    let listing = Api::<Deployment>::all(watched.client.clone()).list(&of_operator).await;
    let found = listing.map_err(Error::kubernetes("looking for other operators"))?.items;
    let is_everywhere = |deployment: &Deployment| {
        let spec = deployment.spec.as_ref();
        let containers = spec.and_then(|spec| spec.template.spec.as_ref()).map(|pod| pod.containers.clone());
        let variables = containers.into_iter().flatten().flat_map(|container| container.env.unwrap_or_default());
        let mut named = variables.filter(|variable| variable.name == "WATCH_NAMESPACES");
        spec.and_then(|spec| spec.replicas) != Some(0)
            && named.all(|variable| variable.value.unwrap_or_default().is_empty())
    };
    let Some(other) = found.iter().find(|deployment| is_everywhere(deployment)) else { return Ok(()) };
    let namespace = other.metadata.namespace.as_deref().unwrap_or_default();
    // It may be left over from an earlier run, or its namespace is being deleted.
    let name = other.metadata.name.as_deref().unwrap_or_default();
    Err(Error::Environment(format!(
        "the operator {name} in the namespace {namespace} watches all namespaces, including those of the tests. \
         To stop it: kubectl --namespace {namespace} scale deployment {name} --replicas 0"
    )))
}

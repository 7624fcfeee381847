//! A RAGEngine: applies it, waits for its status, and sends requests to it.

use hyper::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Api;
use kube::api::ListParams;
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, RagEngine, Reason};
use serde_json::{Value, json};

use crate::forward::{Connection, Reply};
use crate::namespace::Namespace;
use crate::server::PORT;
use crate::{Error, pod, turns, wait};

/// The port of an engine's Service for metrics.
pub const ADMIN_PORT: u16 = 5001;

/// A RAGEngine in a namespace.
pub struct Engine<'a> {
    namespace: &'a Namespace,
    /// The name of the RAGEngine.
    pub name: String,
}

impl<'a> Engine<'a> {
    /// Refers to a RAGEngine that exists or will exist.
    pub fn named(namespace: &'a Namespace, name: &str) -> Self {
        Self { namespace, name: name.to_owned() }
    }

    /// Applies a RAGEngine.
    ///
    /// # Errors
    ///
    /// When the API server refuses.
    pub async fn apply(namespace: &'a Namespace, name: &str, spec: &Value) -> Result<Self, Error> {
        let engine = Self::named(namespace, name);
        engine.set(spec).await?;
        Ok(engine)
    }

    /// Applies a RAGEngine and waits until it is Ready.
    ///
    /// # Errors
    ///
    /// When the API server refuses, or it is not Ready in time.
    pub async fn start(namespace: &'a Namespace, name: &str, spec: &Value) -> Result<Self, Error> {
        let _turn = turns::to_start().await?;
        let engine = Self::apply(namespace, name, spec).await?;
        engine.until_ready().await?;
        Ok(engine)
    }

    /// Applies a specification. By default it reserves few resources, because tests share a small node.
    ///
    /// # Errors
    ///
    /// When the API server refuses.
    pub async fn set(&self, spec: &Value) -> Result<RagEngine, Error> {
        let mut spec = spec.clone();
        if spec.get("resources").is_none() {
            spec["resources"] = json!({"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}});
        }
        let object = json!({
            "apiVersion": "ragengine.dev/v1alpha1",
            "kind": "RAGEngine",
            "metadata": {"name": self.name},
            "spec": spec,
        });
        self.namespace.apply(&self.name, &object).await
    }

    /// Reads the RAGEngine.
    ///
    /// # Errors
    ///
    /// When it does not exist.
    pub async fn object(&self) -> Result<RagEngine, Error> {
        self.namespace.get(&self.name).await
    }

    /// Waits until the RAGEngine is Ready, for its current specification, and no change is in progress: an engine with
    /// several pods is Ready while they are replaced.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_ready(&self) -> Result<RagEngine, Error> {
        self.until_status(&format!("{}: it is Ready, and no change is in progress", self.name), |engine| {
            let is = |type_, status| condition(engine, type_).is_some_and(|found| found.status == status);
            let is_serving =
                condition(engine, ConditionType::Ready).is_some_and(|ready| ready.reason == Reason::Serving);
            is(ConditionType::Ready, ConditionStatus::True)
                && is_serving
                && is(ConditionType::Progressing, ConditionStatus::False)
        })
        .await
    }

    /// Waits until a condition has this status and reason, for the current specification.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until(
        &self,
        type_: ConditionType,
        status: ConditionStatus,
        reason: Reason,
    ) -> Result<RagEngine, Error> {
        let wanted = format!("{}: {type_:?} is {status:?}, {reason:?}", self.name);
        self.until_status(&wanted, |engine| {
            let condition = condition(engine, type_);
            condition.is_some_and(|condition| (condition.status, condition.reason) == (status, reason))
        })
        .await
    }

    /// Waits until the RAGEngine is not Ready for this reason, and returns the message.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_not_ready(&self, reason: Reason) -> Result<String, Error> {
        let engine = self.until(ConditionType::Ready, ConditionStatus::False, reason).await?;
        Ok(condition(&engine, ConditionType::Ready).map(|condition| condition.message.clone()).unwrap_or_default())
    }

    /// Waits until the RAGEngine is stopped.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_stopped(&self) -> Result<RagEngine, Error> {
        self.until(ConditionType::Ready, ConditionStatus::True, Reason::Stopped).await
    }

    /// Waits until the operator has observed the current specification, and the RAGEngine matches.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn until_status(&self, wanted: &str, matches: impl Fn(&RagEngine) -> bool) -> Result<RagEngine, Error> {
        self.namespace
            .until::<RagEngine, _>(&self.name, wanted, |engine| {
                let observed = engine.status.as_ref().and_then(|status| status.observed_generation);
                let is_current = observed == engine.metadata.generation;
                if is_current && matches(engine) { Ok(engine.clone()) } else { Err(describe(engine)) }
            })
            .await
    }

    /// Reads its Deployment.
    ///
    /// # Errors
    ///
    /// When it does not exist.
    pub async fn deployment(&self) -> Result<Deployment, Error> {
        self.namespace.get(&self.name).await
    }

    /// All pods of its namespace.
    pub fn pods(&self) -> Api<Pod> {
        self.namespace.api()
    }

    /// Waits for a pod of the engine that matches.
    ///
    /// # Errors
    ///
    /// When there is no such pod in time.
    pub async fn pod_that(&self, wanted: &str, matches: impl Fn(&Pod) -> bool) -> Result<Pod, Error> {
        let its = format!("app.kubernetes.io/name=ragengine,app.kubernetes.io/instance={}", self.name);
        let (pods, its) = (self.pods(), ListParams::default().labels(&its));
        wait::until(wanted, async || {
            let pods = pods.list(&its).await.map_err(|error| error.to_string())?.items;
            let seen = pods.iter().map(pod::describe).collect::<Vec<_>>().join(", ");
            pods.into_iter().find(&matches).ok_or(if seen.is_empty() { "no pod".to_owned() } else { seen })
        })
        .await
    }

    /// Waits for a ready pod of the engine.
    ///
    /// # Errors
    ///
    /// When there is no such pod in time.
    pub async fn ready_pod(&self) -> Result<Pod, Error> {
        self.pod_that("a pod of the engine is ready", |candidate| {
            candidate.metadata.deletion_timestamp.is_none() && pod::is_ready(candidate)
        })
        .await
    }

    /// Waits until the engine has this number of pods, which are all ready, and none that ends. Returns them.
    ///
    /// # Errors
    ///
    /// When that does not happen in time.
    pub async fn ready_pods(&self, count: usize) -> Result<Vec<Pod>, Error> {
        let its = format!("app.kubernetes.io/name=ragengine,app.kubernetes.io/instance={}", self.name);
        let (pods, its) = (self.pods(), ListParams::default().labels(&its));
        wait::until(&format!("{count} pods of the engine are ready"), async || {
            let pods = pods.list(&its).await.map_err(|error| error.to_string())?.items;
            let are_ready = pods.iter().all(|pod| pod.metadata.deletion_timestamp.is_none() && pod::is_ready(pod));
            if pods.len() == count && are_ready {
                return Ok(pods);
            }
            Err(pods.iter().map(pod::describe).collect::<Vec<_>>().join(", "))
        })
        .await
    }

    /// Connects to this pod of the engine.
    ///
    /// # Errors
    ///
    /// When the pod cannot be reached.
    pub async fn connect_to(&self, pod: &Pod) -> Result<Connection, Error> {
        Connection::open(&self.pods(), pod.metadata.name.as_deref().unwrap_or_default(), PORT).await
    }

    /// The address of its Service in the cluster, on port 80, with a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.namespace.host(&self.name))
    }

    /// The name of the Secret with the write token.
    pub fn token_secret(&self) -> String {
        format!("{}-write", self.name)
    }

    /// Reads the write token.
    ///
    /// # Errors
    ///
    /// When the Secret does not exist, or the token is not UTF-8.
    pub async fn token(&self) -> Result<String, Error> {
        let secret: Secret = self.namespace.get(&self.token_secret()).await?;
        let token = secret.data.and_then(|mut data| data.remove("token")).map(|token| token.0).unwrap_or_default();
        String::from_utf8(token).map_err(|error| Error::Unexpected(format!("the write token: {error}")))
    }

    /// Connects to a ready pod of the engine.
    ///
    /// # Errors
    ///
    /// When no ready pod can be reached.
    pub async fn connect(&self) -> Result<Connection, Error> {
        let pod = self.ready_pod().await?.metadata.name.unwrap_or_default();
        Connection::open(&self.pods(), &pod, PORT).await
    }

    /// Sends a GET.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn get(&self, path: &str) -> Result<Reply, Error> {
        self.connect().await?.send(Method::GET, path, None).await
    }

    /// Sends a POST without a token.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply, Error> {
        self.connect().await?.send(Method::POST, path, Some(body)).await
    }

    /// Sends a POST with this token.
    ///
    /// # Errors
    ///
    /// When no reply arrives.
    pub async fn post_with(&self, token: &str, path: &str, body: &Value) -> Result<Reply, Error> {
        self.connect().await?.with_token(token).send(Method::POST, path, Some(body)).await
    }
}

/// Returns a condition of the RAGEngine.
pub fn condition(engine: &RagEngine, type_: ConditionType) -> Option<&Condition> {
    engine.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
}

/// Describes the status in one line.
fn describe(engine: &RagEngine) -> String {
    let status = engine.status.clone().unwrap_or_default();
    let conditions = status.conditions.iter().map(|condition| {
        let Condition { type_, status, reason, message, .. } = condition;
        format!("{type_:?} {status:?} {reason:?}: {message}")
    });
    let generations = format!("generation {:?}, observed {:?}", engine.metadata.generation, status.observed_generation);
    std::iter::once(generations).chain(conditions).collect::<Vec<_>>().join("; ")
}

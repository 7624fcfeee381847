//! A RAGEngine, as users have it: applied, waited for, and asked.

use hyper::Method;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::Api;
use kube::api::ListParams;
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, RagEngine, Reason};
use serde_json::{Value, json};

use crate::forward::{Connection, Reply};
use crate::namespace::Namespace;
use crate::server::{PORT, STARTING};
use crate::{Error, pod, wait};

/// The port of an engine's Service for monitors.
pub const ADMIN_PORT: u16 = 5001;

/// A RAGEngine in a namespace.
pub struct Engine<'a> {
    namespace: &'a Namespace,
    /// Its name.
    pub name: String,
}

impl<'a> Engine<'a> {
    /// One that is there already, or that will be.
    pub fn named(namespace: &'a Namespace, name: &str) -> Self {
        Self { namespace, name: name.to_owned() }
    }

    /// Applies one.
    ///
    /// # Errors
    ///
    /// When the API server refuses.
    pub async fn apply(namespace: &'a Namespace, name: &str, spec: &Value) -> Result<Self, Error> {
        let engine = Self::named(namespace, name);
        engine.set(spec).await?;
        Ok(engine)
    }

    /// Applies one and waits until it is Ready.
    ///
    /// # Errors
    ///
    /// When the API server refuses, or it is not Ready in time.
    pub async fn start(namespace: &'a Namespace, name: &str, spec: &Value) -> Result<Self, Error> {
        // The semaphore is never closed; without a permit the start is a start all the same.
        let _permit = STARTING.acquire().await.ok();
        let engine = Self::apply(namespace, name, spec).await?;
        engine.until_ready().await?;
        Ok(engine)
    }

    /// From now on it is to be like this. Tests share a small node: unless told, little of it is reserved.
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

    /// It, as the API server has it.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub async fn object(&self) -> Result<RagEngine, Error> {
        self.namespace.get(&self.name).await
    }

    /// Waits until it is Ready, for the specification that it has now.
    ///
    /// # Errors
    ///
    /// When it is not in time.
    pub async fn until_ready(&self) -> Result<RagEngine, Error> {
        self.until(ConditionType::Ready, ConditionStatus::True, Reason::Serving).await
    }

    /// Waits until a condition has this status for this reason, for the specification that it has now.
    ///
    /// # Errors
    ///
    /// When it has not in time.
    pub async fn until(
        &self,
        type_: ConditionType,
        status: ConditionStatus,
        reason: Reason,
    ) -> Result<RagEngine, Error> {
        let wanted = format!("{}: {type_:?} is {status:?}, {reason:?}", self.name);
        self.until_so(&wanted, |engine| {
            let condition = condition(engine, type_);
            condition.is_some_and(|condition| (condition.status, condition.reason) == (status, reason))
        })
        .await
    }

    /// Waits until it is not Ready for this reason, and gives the message.
    ///
    /// # Errors
    ///
    /// When it is not so in time.
    pub async fn until_not_ready(&self, reason: Reason) -> Result<String, Error> {
        let engine = self.until(ConditionType::Ready, ConditionStatus::False, reason).await?;
        Ok(condition(&engine, ConditionType::Ready).map(|condition| condition.message.clone()).unwrap_or_default())
    }

    /// Waits until it is stopped, as it was asked to be.
    ///
    /// # Errors
    ///
    /// When it is not in time.
    pub async fn until_stopped(&self) -> Result<RagEngine, Error> {
        self.until(ConditionType::Ready, ConditionStatus::True, Reason::Stopped).await
    }

    /// Waits until the operator has acted on the specification that it has now, and the outcome is so.
    ///
    /// # Errors
    ///
    /// When it is not so in time.
    pub async fn until_so(&self, wanted: &str, is_so: impl Fn(&RagEngine) -> bool) -> Result<RagEngine, Error> {
        self.namespace
            .until::<RagEngine, _>(&self.name, wanted, |engine| {
                let observed = engine.status.as_ref().and_then(|status| status.observed_generation);
                match observed == engine.metadata.generation && is_so(engine) {
                    true => Ok(engine.clone()),
                    false => Err(describe(engine)),
                }
            })
            .await
    }

    /// Its Deployment.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub async fn deployment(&self) -> Result<Deployment, Error> {
        self.namespace.get(&self.name).await
    }

    /// All pods of its namespace.
    pub fn pods(&self) -> Api<Pod> {
        self.namespace.api()
    }

    /// Waits for a pod of it that is as `is_so` wants it.
    ///
    /// # Errors
    ///
    /// When there is none in time.
    pub async fn pod_that(&self, wanted: &str, is_so: impl Fn(&Pod) -> bool) -> Result<Pod, Error> {
        let its = format!("app.kubernetes.io/name=ragengine,app.kubernetes.io/instance={}", self.name);
        let (pods, its) = (self.pods(), ListParams::default().labels(&its));
        wait::until(wanted, async || {
            let pods = pods.list(&its).await.map_err(|error| error.to_string())?.items;
            let seen = pods.iter().map(pod::describe).collect::<Vec<_>>().join(", ");
            pods.into_iter().find(&is_so).ok_or(if seen.is_empty() { "no pod".to_owned() } else { seen })
        })
        .await
    }

    /// Waits for a pod of it that is ready.
    ///
    /// # Errors
    ///
    /// When there is none in time.
    pub async fn ready_pod(&self) -> Result<Pod, Error> {
        self.pod_that("a pod of the engine is ready", |candidate| {
            candidate.metadata.deletion_timestamp.is_none() && pod::is_ready(candidate)
        })
        .await
    }

    /// Its address in the cluster: that of its Service, on port 80.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.namespace.host(&self.name))
    }

    /// The name of the Secret with its write token.
    pub fn token_secret(&self) -> String {
        format!("{}-write", self.name)
    }

    /// Its write token.
    ///
    /// # Errors
    ///
    /// When its Secret is not there, or is no text.
    pub async fn token(&self) -> Result<String, Error> {
        let secret: Secret = self.namespace.get(&self.token_secret()).await?;
        let token = secret.data.and_then(|mut data| data.remove("token")).map(|token| token.0).unwrap_or_default();
        String::from_utf8(token).map_err(|error| Error::Unexpected(format!("the write token: {error}")))
    }

    /// A connection to a pod of it that is ready.
    ///
    /// # Errors
    ///
    /// When none can be reached.
    pub async fn connect(&self) -> Result<Connection, Error> {
        let pod = self.ready_pod().await?.metadata.name.unwrap_or_default();
        Connection::open(&self.pods(), &pod, PORT).await
    }

    /// A GET.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn get(&self, path: &str) -> Result<Reply, Error> {
        self.connect().await?.send(Method::GET, path, None).await
    }

    /// A POST without a token.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply, Error> {
        self.connect().await?.send(Method::POST, path, Some(body)).await
    }

    /// A POST with this token.
    ///
    /// # Errors
    ///
    /// When no reply comes.
    pub async fn post_with(&self, token: &str, path: &str, body: &Value) -> Result<Reply, Error> {
        self.connect().await?.with_token(token).send(Method::POST, path, Some(body)).await
    }
}

/// One of its conditions.
pub fn condition(engine: &RagEngine, type_: ConditionType) -> Option<&Condition> {
    engine.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == type_)
}

/// What it is like, in a line.
fn describe(engine: &RagEngine) -> String {
    let status = engine.status.clone().unwrap_or_default();
    let conditions = status.conditions.iter().map(|condition| {
        let Condition { type_, status, reason, message, .. } = condition;
        format!("{type_:?} {status:?} {reason:?}: {message}")
    });
    let generations = format!("generation {:?}, observed {:?}", engine.metadata.generation, status.observed_generation);
    std::iter::once(generations).chain(conditions).collect::<Vec<_>>().join("; ")
}

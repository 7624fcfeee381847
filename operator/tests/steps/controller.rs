//! The whole controller, with an in-memory API server and a paused clock.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use ragengine_operator::context::{Clock, Context};
use ragengine_operator::defaults::Defaults;
use ragengine_operator::gateway::Gateways;
use ragengine_operator::metrics::Metrics;
use ragengine_operator::scope::{self, Shared};
use ragengine_operator::server_token::ServerToken;
use ragengine_operator::watches::Scope;
use ragengine_operator_api::{Condition, ConditionType, RagEngine, RagEngineStatus};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::api_server::{ApiServer, Call, pass};
use crate::fixture::{defaults, valid};

/// Long enough for work that is due at once, and too short for a retry.
pub const A_MOMENT: Duration = Duration::from_millis(400);
/// Like [`A_MOMENT`], for changes of Secrets and ConfigMaps. The operator sees them after the second of their write.
pub const A_SECOND_MORE: Duration = Duration::from_millis(1400);
/// Long enough for periodic work, if nothing fails.
pub const A_WHILE: Duration = Duration::from_secs(60);
/// Longer than any back-off.
pub const LONG: Duration = Duration::from_secs(600);

/// A running controller.
pub struct Controller {
    pub context: Arc<Context>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Controller {
    pub fn start(server: &ApiServer) -> Self {
        Self::start_with(server, defaults())
    }

    /// Starts a controller with other defaults.
    pub fn start_with(server: &ApiServer, defaults: Defaults) -> Self {
        Self::start_in(server, defaults, Gateways::Absent, Arc::default())
    }

    /// Starts a controller in a cluster with the Gateway API, or with a token for servers.
    pub fn start_in(
        server: &ApiServer,
        defaults: Defaults,
        gateways: Gateways,
        server_token: Arc<ServerToken>,
    ) -> Self {
        let shared = Shared {
            client: server.client(),
            metrics: Arc::new(Metrics::new().unwrap()),
            defaults,
            api_server: Arc::default(),
            cluster_issuer: Arc::default(),
            server_token,
            gateways,
            clock: clock(),
            identity: "operator-0".to_owned(),
            concurrency: 4,
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let running = scope::start(&shared, &Scope::All, async move { drop(stopped.await) });
        Self { context: Arc::clone(&running.context), stop, task: tokio::spawn(running.run()) }
    }

    /// Stops the controller in order, within the grace period of a pod.
    pub async fn stop(self) {
        drop(self.stop);
        tokio::time::timeout(Duration::from_secs(30), self.task).await.expect("the controller does not stop").unwrap();
    }
}

/// A clock that starts at nine and follows tokio's paused clock.
fn clock() -> Clock {
    let began = tokio::time::Instant::now();
    let nine: Timestamp = "2026-11-22T09:00:00Z".parse().unwrap();
    Arc::new(move || nine + SignedDuration::try_from(began.elapsed()).unwrap())
}

/// An API server with an engine and everything that it refers to.
pub fn server_with(engine: &RagEngine) -> ApiServer {
    let server = ApiServer::default();
    for reference in valid(engine).references {
        let kind = reference.to_string();
        let resource = if kind.starts_with("Secret") { "secrets" } else { "configmaps" };
        server.put(resource, json!({"metadata": {"name": reference.name}}));
    }
    for claim in ["vector-db", "models"] {
        server.put("persistentvolumeclaims", json!({"metadata": {"name": claim}}));
    }
    server.put("ragengines", manifest(engine));
    server
}

/// The manifest of an engine, as a user writes it. The API server adds uid and generation.
pub fn manifest(engine: &RagEngine) -> serde_json::Value {
    let mut object = serde_json::to_value(engine).unwrap();
    object["metadata"] = json!({"name": object["metadata"]["name"]});
    object.as_object_mut().unwrap().remove("status");
    object
}

/// The current status of an engine.
pub fn status(server: &ApiServer, name: &str) -> RagEngineStatus {
    let object = server.get("ragengines", name).unwrap_or_else(|| panic!("no ragengine {name}"));
    serde_json::from_value(object["status"].clone()).unwrap_or_default()
}

/// One condition of an engine.
pub fn condition(server: &ApiServer, name: &str, type_: ConditionType) -> Option<Condition> {
    status(server, name).conditions.into_iter().find(|condition| condition.type_ == type_)
}

/// Waits until a condition holds. Panics after [`LONG`], the longest back-off.
pub async fn until(what: &str, server: &ApiServer, holds: impl Fn() -> bool) {
    for _ in 0..LONG.as_millis() / 100 {
        if holds() {
            return;
        }
        pass(Duration::from_millis(100)).await;
    }
    panic!("{what} never holds; the last calls: {:#?}", server.calls());
}

/// The writes since the last call of this function or of `calls`.
pub fn writes(server: &ApiServer) -> Vec<Call> {
    server.calls().into_iter().filter(|call| !call.is_read()).collect()
}

/// Like [`writes`], without statuses and events.
pub fn object_writes(server: &ApiServer) -> Vec<String> {
    let is_report = |call: &Call| ["events", "ragengines/status", "indexes/status"].contains(&call.resource.as_str());
    writes(server).iter().filter(|call| !is_report(call)).map(|call| format!("{call:?}")).collect()
}

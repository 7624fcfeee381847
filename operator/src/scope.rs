//! The controllers for one namespace or for all namespaces.

mod gauges;
mod seen;

use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use kube::Client;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::{self, ObjectRef};
use ragengine_operator_api::{Index, RagEngine};
use tokio::sync::mpsc;
use tracing::info;

use crate::api_server::ApiServer;
use crate::cluster_issuer::ClusterIssuer;
use crate::context::{Clock, Context, Started, Statuses};
use crate::defaults::Defaults;
use crate::departures::Departures;
use crate::engine::Engines;
use crate::error::Error;
use crate::events::Events;
use crate::gateway::Gateways;
use crate::index;
use crate::karpenter;
use crate::metrics::Metrics;
use crate::names::{Identity, IndexIdentity, Kind, Owner};
use crate::rag_engine::{self, nodes::Attempts, settings::has_modes};
use crate::records::Records;
use crate::report::failed;
use crate::server_token::ServerToken;
use crate::watches::{self, Scope, Wake, Watches};

pub use gauges::Gauges;
use seen::Watched;

/// The input that all scopes share.
#[derive(Clone)]
pub struct Shared {
    /// The client of the API server.
    pub client: Client,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The operator's settings.
    pub defaults: Defaults,
    /// The addresses of the API server.
    pub api_server: Arc<ApiServer>,
    /// The issuer of the cluster's ServiceAccount tokens.
    pub cluster_issuer: Arc<ClusterIssuer>,
    /// The token that the operator sends to servers.
    pub server_token: Arc<ServerToken>,
    /// Whether the cluster has the Gateway API.
    pub gateways: Gateways,
    /// The clock.
    pub clock: Clock,
    /// The name of this process in events.
    pub identity: String,
    /// The maximum number of concurrent reconciles in one scope.
    pub concurrency: u16,
}

/// A scope with running watches.
pub struct Running {
    /// The context of its reconciles.
    pub context: Arc<Context>,
    controllers: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Starts the watches of a scope. `stop` ends its controllers.
pub fn start(shared: &Shared, scope: &Scope, stop: impl Future<Output = ()> + Send + Sync + 'static) -> Running {
    let Watches { caches, filling_engines, filling_indexes, referrers, touched, wake, tasks } =
        watches::start(&shared.client, scope, &shared.metrics, shared.gateways);
    let (engine_store, engine_writer) = reflector::store();
    let (index_store, index_writer) = reflector::store();
    let engines = Engines::new(wake.clone(), Arc::clone(&referrers), Arc::clone(&shared.metrics));
    let context = Arc::new(Context {
        client: shared.client.clone(),
        caches,
        referrers,
        records: Records::new(
            Arc::clone(&engines),
            Arc::clone(&shared.server_token),
            wake.clone(),
            Arc::clone(&shared.metrics),
        ),
        engines,
        engine_store,
        index_store,
        memory: crate::apply::Memory::default(),
        statuses: Statuses::default(),
        index_statuses: Statuses::default(),
        started: Started::default(),
        departures: Departures::default(),
        attempts: Attempts::default(),
        api_server: Arc::clone(&shared.api_server),
        cluster_issuer: Arc::clone(&shared.cluster_issuer),
        clock: Arc::clone(&shared.clock),
        failures: crate::backoff::Failures::default(),
        waiting: Arc::default(),
        events: Events::new(shared.client.clone(), &shared.identity),
        metrics: Arc::clone(&shared.metrics),
        defaults: shared.defaults.clone(),
    });
    // Reconciles of Indexes are rarer and mostly wait.
    let for_indexes = (shared.concurrency / 4).max(1);
    let for_engines = shared.concurrency.saturating_sub(for_indexes).max(1);
    let stop = stop.shared();
    let engines = seen::engines(Watched {
        api: scope.api(&shared.client),
        store: context.engine_store.clone(),
        writer: engine_writer,
        filling: filling_engines,
        context: Arc::clone(&context),
        wake: wake.clone(),
    });
    let engines = Controller::for_stream(engines, context.engine_store.clone())
        .with_config(Config::default().concurrency(for_engines))
        .reconcile_on(wake_ups(touched.engines, Kind::Engine, &context))
        .graceful_shutdown_on(stop.clone());
    let indexes = seen::indexes(Watched {
        api: scope.api(&shared.client),
        store: context.index_store.clone(),
        writer: index_writer,
        filling: filling_indexes,
        context: Arc::clone(&context),
        wake: wake.clone(),
    });
    let for_nodes = wake.clone();
    let for_keys = wake;
    let indexes = Controller::for_stream(indexes, context.index_store.clone())
        .with_config(Config::default().concurrency(for_indexes))
        .reconcile_on(wake_ups(touched.indexes, Kind::Index, &context))
        .graceful_shutdown_on(stop);
    let asking = [
        tokio::spawn(Arc::clone(&context.engines).run()),
        tokio::spawn(Arc::clone(&context.records).run()),
        tokio::spawn(hand_over_keys(Arc::clone(&context), for_keys)),
        tokio::spawn(karpenter::follow(Arc::clone(&context), scope.clone(), for_nodes)),
    ];
    let for_reconciles = Arc::clone(&context);
    let controllers = Box::pin(async move {
        // Keeps the watches running as long as the controllers.
        let _watches = tasks;
        // Errors were already logged by `failed`.
        let engines = engines.run(reconcile_engine, failed, Arc::clone(&for_reconciles));
        let indexes = indexes.run(reconcile_index, failed, for_reconciles);
        let (engines, indexes) = (engines.for_each(|_| ready(())), indexes.for_each(|_| ready(())));
        futures_util::future::join(engines, indexes).await;
        asking.iter().for_each(tokio::task::JoinHandle::abort);
    });
    Running { context, controllers }
}

/// Wakes the engines that new keys of the cluster's issuer are handed over to.
async fn hand_over_keys(context: Arc<Context>, wake: Wake) {
    let mut changes = context.cluster_issuer.changes();
    while changes.changed().await.is_ok() {
        for engine in context.engine_store.state().into_iter().filter(|engine| has_modes(&engine.spec)) {
            wake.send(&Identity::of(&engine).owner()).await;
        }
    }
}

impl Running {
    /// Waits until all caches have been filled.
    pub fn filled(&self) -> impl Future<Output = ()> + Send + use<> {
        let context = Arc::clone(&self.context);
        async move { context.caches.filled().await }
    }

    /// Returns a function that counts the metrics on demand.
    pub fn gauges(&self) -> impl Fn() -> Gauges + Send + use<> {
        let context = Arc::clone(&self.context);
        move || gauges::gauges(&context)
    }

    /// Runs the controllers until they are stopped and running reconciles have ended.
    pub async fn run(self) {
        self.controllers.await;
    }
}

fn wake_ups<K>(
    touched: mpsc::Receiver<ObjectRef<K>>,
    kind: Kind,
    context: &Arc<Context>,
) -> impl futures_util::Stream<Item = ObjectRef<K>> + Send + use<K>
where
    K: kube::Resource<DynamicType = ()> + Send + 'static,
{
    let waiting = Arc::clone(&context.waiting);
    futures_util::stream::unfold((touched, waiting), move |(mut touched, waiting)| async move {
        let object = touched.recv().await?;
        waiting.begins(Owner {
            kind,
            namespace: object.namespace.clone().unwrap_or_default(),
            name: object.name.clone(),
        });
        Some((object, (touched, waiting)))
    })
}

/// Runs a reconcile and records its metrics.
async fn reconcile_engine(engine: Arc<RagEngine>, context: Arc<Context>) -> Result<Action, Error> {
    let identity = Identity::of(&engine);
    let reconcile = rag_engine::reconcile(&engine, &context);
    measured(&context, "RAGEngine", &identity.owner(), &identity.uid, reconcile).await
}

/// Runs a reconcile and records its metrics.
async fn reconcile_index(index: Arc<Index>, context: Arc<Context>) -> Result<Action, Error> {
    let identity = IndexIdentity::of(&index);
    let reconcile = index::reconcile(&index, &context);
    measured(&context, "Index", &identity.owner(), &identity.uid, reconcile).await
}

async fn measured(
    context: &Context,
    kind: &'static str,
    owner: &Owner,
    uid: &str,
    reconcile: impl Future<Output = Result<Action, Error>>,
) -> Result<Action, Error> {
    // Before the caches are filled, a missing object may only not have been seen yet.
    context.caches.filled().await;
    context.waiting.ends(owner);
    let mut measured = context.metrics.reconcile_begins(kind);
    let outcome = reconcile.await;
    measured.ended(outcome.is_ok());
    if outcome.is_ok() {
        context.failures.forget(uid);
    }
    outcome
}

/// Logs which namespaces are watched.
pub fn log(scope: &Scope) {
    match scope {
        Scope::All => info!("watching all namespaces"),
        Scope::Namespace(namespace) => info!(namespace, "watching a namespace"),
    }
}

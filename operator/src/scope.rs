//! A controller for one namespace, or for all of them.

use std::future::Future;
use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::Client;
use kube::api::Api;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event, watcher};
use ragengine_operator_api::{ConditionStatus, ConditionType, RagEngine};
use tokio::sync::mpsc;
use tracing::info;

use crate::context::{Context, Statuses, Waiting};
use crate::engine::Engines;
use crate::error::Error;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::names::Identity;
use crate::rag_engine::{self, validate::Defaults};
use crate::watches::{self, Filling, Scope, Touched, Watches, gone, log_failure};

/// What all scopes share.
#[derive(Clone)]
pub struct Shared {
    /// Access to the API server.
    pub client: Client,
    /// What Prometheus sees.
    pub metrics: Arc<Metrics>,
    /// What the operator was started with.
    pub defaults: Defaults,
    /// What this process is called.
    pub identity: String,
    /// Reconciles at a time, in one scope.
    pub concurrency: u16,
}

/// A scope that is being watched.
pub struct Running {
    /// Everything that its reconciles can reach.
    pub context: Arc<Context>,
    engines: Store<RagEngine>,
    controller: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Begins to watch a scope, until `stop`.
pub fn start(shared: &Shared, scope: &Scope, stop: impl Future<Output = ()> + Send + Sync + 'static) -> Running {
    let Watches { caches, filling, referrers, touched, wake, tasks } =
        watches::start(&shared.client, scope, &shared.metrics);
    let waiting = Arc::<Waiting>::default();
    let context = Arc::new(Context {
        client: shared.client.clone(),
        caches,
        referrers,
        engines: Engines::new(wake, Arc::clone(&shared.metrics)),
        memory: crate::apply::Memory::default(),
        statuses: Statuses::default(),
        failures: crate::backoff::Failures::default(),
        waiting,
        events: Events::new(shared.client.clone(), &shared.identity),
        metrics: Arc::clone(&shared.metrics),
        defaults: shared.defaults.clone(),
    });
    let (engines, seen) = rag_engines(scope.api(&shared.client), filling, &context);
    let controller = Controller::for_stream(seen, engines.clone())
        .with_config(Config::default().concurrency(shared.concurrency))
        .reconcile_on(wake_ups(touched, &context))
        .graceful_shutdown_on(stop);
    let asking = tokio::spawn(Arc::clone(&context.engines).run());
    let for_reconciles = Arc::clone(&context);
    let controller = Box::pin(async move {
        // The watches run as long as the controller, and no longer.
        let _watches = tasks;
        let ended = controller.run(reconcile, rag_engine::failed, for_reconciles);
        // What fails has been logged where it failed.
        ended.for_each(|_| std::future::ready(())).await;
        asking.abort();
    });
    Running { context, engines, controller }
}

impl Running {
    /// Waits until everything has been seen once.
    pub fn filled(&self) -> impl Future<Output = ()> + Send + use<> {
        let context = Arc::clone(&self.context);
        async move { context.caches.filled().await }
    }

    /// Sets the metrics that are counted only when somebody asks.
    pub fn gauges(&self) -> impl Fn() -> Gauges + Send + use<> {
        let (context, engines) = (Arc::clone(&self.context), self.engines.clone());
        move || Gauges {
            waiting: context.waiting.len(),
            objects: context.caches.counts().to_vec(),
            ready: ready(&engines),
        }
    }

    /// Reconciles until it is stopped, and ends what runs.
    pub async fn run(self) {
        self.controller.await;
    }
}

/// What is counted when somebody asks.
pub struct Gauges {
    /// Resources that wait.
    pub waiting: usize,
    /// Objects by kind.
    pub objects: Vec<(&'static str, usize)>,
    /// RAGEngines by whether they are ready.
    pub ready: [(&'static str, usize); 3],
}

fn ready(engines: &Store<RagEngine>) -> [(&'static str, usize); 3] {
    let mut counts = [("true", 0), ("false", 0), ("unknown", 0)];
    for engine in engines.state() {
        let conditions = engine.status.iter().flat_map(|status| &status.conditions);
        let ready = conditions.into_iter().find(|condition| condition.type_ == ConditionType::Ready);
        let place = match ready.map(|condition| condition.status) {
            Some(ConditionStatus::True) => 0,
            Some(ConditionStatus::False) => 1,
            Some(ConditionStatus::Unknown) | None => 2,
        };
        counts[place].1 += 1;
    }
    counts
}

type Seen = std::pin::Pin<Box<dyn futures_util::Stream<Item = Result<RagEngine, watcher::Error>> + Send>>;

/// The RAGEngines, and each change of one. One that is gone is forgotten.
fn rag_engines(api: Api<RagEngine>, mut filling: Filling, context: &Arc<Context>) -> (Store<RagEngine>, Seen) {
    let (reader, writer) = reflector::store::<RagEngine>();
    let (context, store) = (Arc::clone(context), reader.clone());
    let mut before = Vec::new();
    let seen = watcher(api, watcher::Config::default().page_size(100)).default_backoff().modify(|engine| {
        engine.metadata.managed_fields = None;
        // It is as long as the object itself, and what kubectl keeps there is nobody's business here.
        if let Some(annotations) = &mut engine.metadata.annotations {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    });
    let seen = reflector::reflector(writer, seen).filter_map(move |event| {
        let changed = match event {
            Ok(Event::Apply(engine) | Event::InitApply(engine)) => {
                context.waiting.begins(&ObjectRef::from_obj(&engine));
                Some(Ok(engine))
            }
            Ok(Event::Delete(engine)) => {
                context.forget(&Identity::of(&engine));
                None
            }
            Ok(Event::Init) => {
                before = store.state();
                None
            }
            Ok(Event::InitDone) => {
                filling.done();
                gone(&std::mem::take(&mut before), &store).for_each(|engine| forget(engine, &store, &context));
                None
            }
            Err(error) => {
                context.metrics.watch_failed("ragengines");
                log_failure("ragengines", &error);
                None
            }
        };
        std::future::ready(changed)
    });
    (reader, Box::pin(seen))
}

/// One that has been made again keeps what is known by its name.
fn forget(gone: &RagEngine, store: &Store<RagEngine>, context: &Context) {
    match store.get(&ObjectRef::from_obj(gone)) {
        None => context.forget(&Identity::of(gone)),
        Some(_) => context.forget_uid(&Identity::of(gone).uid),
    }
}

fn wake_ups(
    touched: mpsc::Receiver<Touched>,
    context: &Arc<Context>,
) -> impl futures_util::Stream<Item = Touched> + Send + use<> {
    let waiting = Arc::clone(&context.waiting);
    futures_util::stream::unfold((touched, waiting), |(mut touched, waiting)| async move {
        let engine = touched.recv().await?;
        waiting.begins(&engine);
        Some((engine, (touched, waiting)))
    })
}

/// A reconcile, measured.
async fn reconcile(engine: Arc<RagEngine>, context: Arc<Context>) -> Result<Action, Error> {
    // Only right after the start: what is not there may not have been seen yet.
    context.caches.filled().await;
    let identity = Identity::of(&engine);
    context.waiting.ends(&identity.namespace, &identity.name);
    let mut measured = context.metrics.reconcile_begins("RAGEngine");
    let outcome = rag_engine::reconcile(&engine, &context).await;
    measured.ended(outcome.is_ok());
    if outcome.is_ok() {
        context.failures.forget(&identity.uid);
    }
    outcome
}

/// Says what is watched.
pub fn log(scope: &Scope) {
    match scope {
        Scope::All => info!("watching all namespaces"),
        Scope::Namespace(namespace) => info!(namespace, "watching a namespace"),
    }
}

//! Watches the cluster: keeps objects in caches, and wakes the resources that a change concerns.

mod caches;
mod filling;
mod referrers;
mod settled;
mod strip;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::{Stream, StreamExt as _};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::api::{Api, ObjectMeta, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};
use ragengine_operator_api::{Index, RagEngine};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::warn;

pub use caches::{Cache, Caches};
pub use filling::{Filled, Filling};
pub use referrers::{Referred, Referrers, version};

use crate::gateway::Gateways;
use crate::metrics::Metrics;
use crate::names::{Kind, MADE_BY_US, Owner};

/// The namespaces that are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All namespaces.
    All,
    /// One namespace.
    Namespace(String),
}

impl Scope {
    /// Whether it has this namespace.
    pub fn has(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(only) => only == namespace,
        }
    }

    /// The API for one kind of object in this scope.
    pub fn api<K>(&self, client: &Client) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        match self {
            Self::All => Api::all(client.clone()),
            Self::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
        }
    }
}

/// The number of objects in one reply to a list request.
const PAGE: u32 = 100;

/// The maximum number of queued wake-ups.
const MAX_WAITING: usize = 1024;

/// Queues resources for a reconcile.
#[derive(Clone)]
pub struct Wake {
    engines: mpsc::Sender<ObjectRef<RagEngine>>,
    indexes: mpsc::Sender<ObjectRef<Index>>,
}

impl Wake {
    /// Queues a resource. Waits while the queue is full.
    pub async fn send(&self, owner: &Owner) {
        // Sending fails only when the operator is ending.
        match owner.kind {
            Kind::Engine => drop(self.engines.send(ObjectRef::new(&owner.name).within(&owner.namespace)).await),
            Kind::Index => drop(self.indexes.send(ObjectRef::new(&owner.name).within(&owner.namespace)).await),
        }
    }
}

/// The queues of resources to reconcile.
pub struct Touched {
    /// RAGEngines.
    pub engines: mpsc::Receiver<ObjectRef<RagEngine>>,
    /// Indexes.
    pub indexes: mpsc::Receiver<ObjectRef<Index>>,
}

/// All watches of a scope. They end when this is dropped.
pub struct Watches {
    /// The caches.
    pub caches: Caches,
    /// Reports when the store of RAGEngines is filled.
    pub filling_engines: Filling,
    /// Reports when the store of Indexes is filled.
    pub filling_indexes: Filling,
    /// Which resources refer to which objects. The reconciles keep it up to date.
    pub referrers: Arc<Referrers>,
    /// The queues of resources to reconcile.
    pub touched: Touched,
    /// Queues further wake-ups.
    pub wake: Wake,
    /// The tasks of the watches.
    pub tasks: JoinSet<()>,
}

/// Starts a watch for each kind of object.
pub fn start(client: &Client, scope: &Scope, metrics: &Arc<Metrics>, gateways: Gateways) -> Watches {
    let (engines, touched_engines) = mpsc::channel(MAX_WAITING);
    let (indexes, touched_indexes) = mpsc::channel(MAX_WAITING);
    let (wake, touched) = (Wake { engines, indexes }, Touched { engines: touched_engines, indexes: touched_indexes });
    let filled = Filled::default();
    let (filling_engines, filling_indexes) = (filled.another(), filled.another());
    let mut starter = Starter {
        client,
        scope,
        wake: wake.clone(),
        referrers: Arc::default(),
        metrics,
        filled: filled.clone(),
        tasks: JoinSet::new(),
    };
    let caches = Caches {
        config_maps: starter.ours(strip::config_map),
        service_accounts: starter.ours(strip::managed_fields),
        services: starter.ours(strip::service),
        deployments: starter.ours(strip::deployment),
        network_policies: starter.ours(strip::managed_fields),
        ingresses: starter.ours(strip::managed_fields),
        http_routes: (gateways == Gateways::Present).then(|| starter.ours(strip::managed_fields)),
        autoscalers: starter.ours(strip::managed_fields),
        disruption_budgets: starter.ours(strip::managed_fields),
        cron_jobs: starter.ours(strip::managed_fields),
        jobs: starter.ours(strip::job),
        pods: starter.ours(strip::pod),
        claims: starter.referred::<PersistentVolumeClaim>(Referred::Claim, strip::managed_fields),
        secrets: starter.referred_by_content::<PartialObjectMeta<Secret>>(Referred::Secret, strip::owned),
        config_map_versions: starter.referred_by_content(Referred::ConfigMap, strip::version),
        filled,
    };
    Watches {
        caches,
        filling_engines,
        filling_indexes,
        referrers: starter.referrers,
        touched,
        wake,
        tasks: starter.tasks,
    }
}

struct Starter<'a> {
    client: &'a Client,
    scope: &'a Scope,
    wake: Wake,
    referrers: Arc<Referrers>,
    metrics: &'a Arc<Metrics>,
    filled: Filled,
    tasks: JoinSet<()>,
}

impl Starter<'_> {
    /// Watches objects that the operator created, which have labels for their owner.
    fn ours<K>(&mut self, strip: fn(&mut K)) -> Cache<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Watchable,
    {
        let config = watcher::Config::default().labels(MADE_BY_US).page_size(PAGE);
        let seen = self.events(config, strip);
        self.watch(seen, Owner::all_of)
    }

    /// Watches objects that users created and resources may refer to.
    fn referred<K>(&mut self, kind: Referred, strip: fn(&mut K)) -> Cache<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Watchable,
    {
        let seen = self.events(watcher::Config::default().page_size(PAGE), strip);
        let about = self.referrers_of(kind);
        self.watch(seen, about)
    }

    /// Like `referred`, for objects whose content has a version: see `settled`.
    fn referred_by_content<K>(&mut self, kind: Referred, strip: fn(&mut K)) -> Cache<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Watchable,
    {
        let seen = self.events(watcher::Config::default().page_size(PAGE), strip);
        let about = self.referrers_of(kind);
        self.watch(settled::settled(seen), about)
    }

    fn referrers_of(&self, kind: Referred) -> impl Fn(&ObjectMeta) -> Vec<Owner> + Send + 'static {
        let referrers = Arc::clone(&self.referrers);
        move |metadata| {
            let part = |part: &Option<String>| part.clone().unwrap_or_default();
            referrers.of(kind, &part(&metadata.namespace), &part(&metadata.name))
        }
    }

    fn events<K>(
        &self,
        config: watcher::Config,
        strip: fn(&mut K),
    ) -> impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Watchable,
    {
        watcher(self.scope.api::<K>(self.client), config).default_backoff().modify(strip)
    }

    fn watch<K>(
        &mut self,
        seen: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
        about: impl Fn(&ObjectMeta) -> Vec<Owner> + Send + 'static,
    ) -> Cache<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Watchable,
    {
        let (reader, writer) = reflector::store::<K>();
        let mut seen = Box::pin(reflector::reflector(writer, seen));
        let (wake, metrics) = (self.wake.clone(), Arc::clone(self.metrics));
        let (mut filling, store) = (self.filled.another(), reader.clone());
        self.tasks.spawn(async move {
            let (mut before, mut is_filled) = (Vec::new(), false);
            while let Some(event) = seen.next().await {
                let touched = match &event {
                    Ok(Event::Apply(object) | Event::Delete(object)) => about(object.meta()),
                    Ok(Event::Init) => {
                        before = store.state();
                        Vec::new()
                    }
                    // The store shows a list only when it is complete.
                    Ok(Event::InitApply(_)) => Vec::new(),
                    Ok(Event::InitDone) => {
                        filling.done();
                        let before = std::mem::take(&mut before);
                        // Before the first list, no reconcile has run, so nothing needs to be woken.
                        let new = if std::mem::replace(&mut is_filled, true) {
                            new_or_changed(&before, &store)
                        } else {
                            Vec::new()
                        };
                        gone(&before, &store).chain(&new).flat_map(|object| about(object.meta())).collect()
                    }
                    Err(error) => {
                        metrics.watch_failed(&K::plural(&()));
                        log_failure(&K::plural(&()), error);
                        Vec::new()
                    }
                };
                for owner in &touched {
                    wake.send(owner).await;
                }
            }
        });
        Cache::new(reader)
    }
}

/// The objects that disappeared while a watch was restarted: no delete event reports them.
pub fn gone<'a, K>(before: &'a [Arc<K>], store: &'a Store<K>) -> impl Iterator<Item = &'a Arc<K>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    before.iter().filter(|object| {
        let now = store.get(&ObjectRef::from_obj(object.as_ref()));
        now.is_none_or(|now| now.meta().uid != object.meta().uid)
    })
}

/// The objects that appeared or changed while a watch was restarted.
pub fn new_or_changed<K>(before: &[Arc<K>], store: &Store<K>) -> Vec<Arc<K>>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let before: HashMap<_, _> = before.iter().map(|object| (ObjectRef::from_obj(object.as_ref()), object)).collect();
    let is_as_before =
        |now: &Arc<K>| before.get(&ObjectRef::from_obj(now.as_ref())).is_some_and(|before| before.meta() == now.meta());
    store.state().into_iter().filter(|now| !is_as_before(now)).collect()
}

/// The requirements of an object that can be watched.
pub trait Watchable: Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static {}
impl<K: Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static> Watchable for K {}

/// Logs a watch failure. An expired watch is normal and is not logged.
pub fn log_failure(resource: &str, error: &watcher::Error) {
    let is_expired = matches!(error, watcher::Error::WatchError(status) if status.code == 410);
    if !is_expired {
        warn!(resource, %error, "a watch failed: it is restarted");
    }
}

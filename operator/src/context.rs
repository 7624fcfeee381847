//! The context that all reconciles share.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::runtime::reflector::Store;
use parking_lot::Mutex;
use ragengine_operator_api::{Index, IndexDeletionPolicy, IndexStatus, RagEngine, RagEngineStatus};
use tokio::time::Instant;

use crate::api_server::ApiServer;
use crate::apply::Memory;
use crate::backoff::Failures;
use crate::cluster_issuer::ClusterIssuer;
use crate::defaults::Defaults;
use crate::departures::Departures;
use crate::engine::Engines;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::names::{Identity, IndexIdentity, Kind, Owner};
use crate::rag_engine::nodes::Attempts;
use crate::records::Records;
use crate::watches::{Caches, Referrers};

/// How long a cache usually takes to show a created object.
const LAG: std::time::Duration = std::time::Duration::from_secs(1);
/// The maximum time that a cache may take to show a created object.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// The shared state of the reconciles of one scope.
pub struct Context {
    /// The client of the API server.
    pub client: Client,
    /// The caches of the watches.
    pub caches: Caches,
    /// Which resources refer to which objects.
    pub referrers: Arc<Referrers>,
    /// The pollers of the servers' status.
    pub engines: Arc<Engines>,
    /// The pollers of the servers' synchronisation records.
    pub records: Arc<Records>,
    /// All RAGEngines.
    pub engine_store: Store<RagEngine>,
    /// All Indexes.
    pub index_store: Store<Index>,
    /// The objects that were sent last.
    pub memory: Memory,
    /// The statuses of RAGEngines that were written last.
    pub statuses: Statuses<RagEngineStatus>,
    /// The statuses of Indexes that were written last.
    pub index_statuses: Statuses<IndexStatus>,
    /// The Jobs that were created last.
    pub started: Started,
    /// Deleted Indexes whose documents may be deleted.
    pub departures: Departures,
    /// When NodeClaims were made last.
    pub attempts: Attempts,
    /// The addresses of the API server.
    pub api_server: Arc<ApiServer>,
    /// The issuer of the cluster's ServiceAccount tokens.
    pub cluster_issuer: Arc<ClusterIssuer>,
    /// The clock.
    pub clock: Clock,
    /// The consecutive failures of each resource.
    pub failures: Failures,
    /// The resources that wait for a reconcile.
    pub waiting: Arc<Waiting>,
    /// Publishes events.
    pub events: Events,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The operator's settings.
    pub defaults: Defaults,
}

impl Context {
    /// Forgets a RAGEngine that was deleted.
    pub fn forget(&self, identity: &Identity) {
        let Identity { namespace, name, uid } = identity;
        let names = [
            name.clone(),
            identity.settings(),
            identity.auth(),
            identity.write_token(),
            identity.claim(),
            identity.sync_policy(),
        ];
        self.memory.forget(namespace, &names);
        self.referrers.forget(&identity.owner());
        self.forget_uid(uid);
    }

    /// Forgets an Index that was deleted. `policy` is its last deletion policy.
    pub fn forget_index(&self, identity: &IndexIdentity, policy: IndexDeletionPolicy) {
        self.referrers.forget(&identity.owner());
        self.forget_index_uid(&identity.uid, policy);
    }

    /// Forgets an Index that was deleted and replaced by another one of the same name.
    pub fn forget_index_uid(&self, uid: &str, policy: IndexDeletionPolicy) {
        self.departures.saw_go(uid, policy);
        self.records.forget(uid);
        self.index_statuses.forget(uid);
        self.started.forget(uid);
        self.failures.forget(uid);
    }

    /// Forgets a RAGEngine that was deleted and replaced by another one of the same name.
    pub fn forget_uid(&self, uid: &str) {
        self.defaults.rollouts.end(uid);
        self.departures.forget_engine(uid);
        self.engines.forget(uid);
        self.attempts.forget(uid);
        self.statuses.forget(uid);
        self.failures.forget(uid);
    }
}

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The last Job of each Index, by uid. The cache shows it a little later.
#[derive(Default)]
pub struct Started(Mutex<HashMap<String, (String, Instant)>>);

impl Started {
    /// Records a Job that was created.
    pub fn started(&self, uid: &str, job_name: &str) {
        self.0.lock().insert(uid.to_owned(), (job_name.to_owned(), Instant::now()));
    }

    /// Whether the cache does not show the Job yet. After 10 seconds the cache is believed: the Job was deleted again.
    pub fn is_lagging(&self, uid: &str, cached: &[Arc<Job>]) -> bool {
        let mut started = self.0.lock();
        let Some((name, at)) = started.get(uid) else { return false };
        let is_shown = cached.iter().any(|job| job.metadata.name.as_ref() == Some(name));
        let is_lagging = !is_shown && at.elapsed() < PATIENCE;
        if !is_lagging {
            started.remove(uid);
        }
        is_lagging
    }

    /// The number of Jobs that were just created and may be missing in the cache.
    pub fn recent(&self) -> usize {
        self.0.lock().values().filter(|(_, at)| at.elapsed() < LAG).count()
    }

    fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

/// The status of each resource that was written last, by uid. The cache shows it a little later.
pub struct Statuses<S>(Mutex<HashMap<String, S>>);

impl<S> Default for Statuses<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Clone + Default + PartialEq> Statuses<S> {
    /// The latest status. A status that the cache shows is dropped here.
    pub fn last(&self, uid: &str, cached: Option<&S>) -> S {
        let mut statuses = self.0.lock();
        if cached.is_some() && statuses.get(uid) == cached {
            statuses.remove(uid);
        }
        statuses.get(uid).or(cached).cloned().unwrap_or_default()
    }

    /// Records a status that was written.
    pub fn written(&self, uid: &str, status: S) {
        self.0.lock().insert(uid.to_owned(), status);
    }

    /// Forgets a status whose write failed, because it may have been written or not.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

/// The resources with changes that have not been reconciled yet.
#[derive(Default)]
pub struct Waiting(Mutex<HashSet<Owner>>);

impl Waiting {
    /// Adds a resource.
    pub fn begins(&self, owner: Owner) {
        self.0.lock().insert(owner);
    }

    /// Removes a resource when its reconcile starts.
    pub fn ends(&self, owner: &Owner) {
        self.0.lock().remove(owner);
    }

    /// The number of resources.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether no resource waits.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The waiting resources of a kind: namespace and name.
    pub fn names(&self, kind: Kind) -> BTreeSet<(String, String)> {
        let waiting = self.0.lock();
        let of_kind = waiting.iter().filter(|owner| owner.kind == kind);
        of_kind.map(|owner| (owner.namespace.clone(), owner.name.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_counts_until_the_cache_shows_it() {
        let status = |replicas| RagEngineStatus { replicas, ..RagEngineStatus::default() };
        let statuses = Statuses::default();
        assert_eq!(statuses.last("a", Some(&status(1))), status(1));
        statuses.written("a", status(2));
        assert_eq!(statuses.last("a", Some(&status(1))), status(2), "the cache lags");
        assert_eq!(statuses.last("a", Some(&status(2))), status(2));
        assert!(statuses.0.lock().is_empty(), "it is not kept twice");
        assert_eq!(statuses.last("a", Some(&status(3))), status(3), "another client has written a status");
    }
}

//! What every reconcile can reach.

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
use crate::defaults::Defaults;
use crate::departures::Departures;
use crate::engine::Engines;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::names::{Identity, IndexIdentity, Kind, Owner};
use crate::records::Records;
use crate::watches::{Caches, Referrers};

/// How long a cache usually does not show what was made.
const LAG: std::time::Duration = std::time::Duration::from_secs(1);
/// How long a cache may not show what was made.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// What the reconciles of one scope share.
pub struct Context {
    /// Access to the API server.
    pub client: Client,
    /// What was seen.
    pub caches: Caches,
    /// Who refers to what.
    pub referrers: Arc<Referrers>,
    /// The servers that are asked how they are.
    pub engines: Arc<Engines>,
    /// The synchronisations that servers are asked about.
    pub records: Arc<Records>,
    /// The RAGEngines that were seen.
    pub engine_store: Store<RagEngine>,
    /// The Indexes that were seen.
    pub index_store: Store<Index>,
    /// What was sent last.
    pub memory: Memory,
    /// The statuses that were written last.
    pub statuses: Statuses<RagEngineStatus>,
    /// The same of Indexes.
    pub index_statuses: Statuses<IndexStatus>,
    /// The Jobs that were made last.
    pub started: Started,
    /// The Indexes that are gone and whose documents may be deleted.
    pub departures: Departures,
    /// Where the API server is.
    pub api_server: Arc<ApiServer>,
    /// The time.
    pub clock: Clock,
    /// The failures in a row.
    pub failures: Failures,
    /// Who waits.
    pub waiting: Arc<Waiting>,
    /// Tells users of changes.
    pub events: Events,
    /// What Prometheus sees.
    pub metrics: Arc<Metrics>,
    /// What the operator was started with.
    pub defaults: Defaults,
}

impl Context {
    /// A RAGEngine is gone.
    pub fn forget(&self, identity: &Identity) {
        let Identity { namespace, name, uid } = identity;
        let names =
            [name.clone(), identity.settings(), identity.write_token(), identity.claim(), identity.sync_policy()];
        self.memory.forget(namespace, &names);
        self.referrers.forget(&identity.owner());
        self.forget_uid(uid);
    }

    /// An Index is gone. This is what it said last of its documents.
    pub fn forget_index(&self, identity: &IndexIdentity, policy: IndexDeletionPolicy) {
        self.referrers.forget(&identity.owner());
        self.forget_index_uid(&identity.uid, policy);
    }

    /// An Index is gone, and another has its name.
    pub fn forget_index_uid(&self, uid: &str, policy: IndexDeletionPolicy) {
        self.departures.saw_go(uid, policy);
        self.records.forget(uid);
        self.index_statuses.forget(uid);
        self.started.forget(uid);
        self.failures.forget(uid);
    }

    /// A RAGEngine is gone, and another has its name.
    pub fn forget_uid(&self, uid: &str) {
        self.defaults.rollouts.end(uid);
        self.departures.forget_engine(uid);
        self.engines.forget(uid);
        self.statuses.forget(uid);
        self.failures.forget(uid);
    }
}

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The Job that was made last for each Index, by uid: the cache shows it a little later.
#[derive(Default)]
pub struct Started(Mutex<HashMap<String, (String, Instant)>>);

impl Started {
    /// A Job of this name was made.
    pub fn started(&self, uid: &str, job_name: &str) {
        self.0.lock().insert(uid.to_owned(), (job_name.to_owned(), Instant::now()));
    }

    /// Whether the cache does not show it yet. After a while it is believed: the Job was deleted again.
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

    /// How many were made a moment ago, and the cache may not show.
    pub fn recent(&self) -> usize {
        self.0.lock().values().filter(|(_, at)| at.elapsed() < LAG).count()
    }

    fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

/// The status of each resource as it was written last, by uid: the cache shows it a little later.
pub struct Statuses<S>(Mutex<HashMap<String, S>>);

impl<S> Default for Statuses<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Clone + Default + PartialEq> Statuses<S> {
    /// The status that counts. One that the cache shows need not be kept here too.
    pub fn last(&self, uid: &str, cached: Option<&S>) -> S {
        let mut statuses = self.0.lock();
        if cached.is_some() && statuses.get(uid) == cached {
            statuses.remove(uid);
        }
        statuses.get(uid).or(cached).cloned().unwrap_or_default()
    }

    /// A status was written.
    pub fn written(&self, uid: &str, status: S) {
        self.0.lock().insert(uid.to_owned(), status);
    }

    /// It may have been written or not: what the cache shows counts again.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

/// The resources that something has happened to and that have not been reconciled since.
#[derive(Default)]
pub struct Waiting(Mutex<HashSet<Owner>>);

impl Waiting {
    /// Something has happened.
    pub fn begins(&self, owner: Owner) {
        self.0.lock().insert(owner);
    }

    /// It is being reconciled.
    pub fn ends(&self, owner: &Owner) {
        self.0.lock().remove(owner);
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Those of a kind that wait, by namespace and name, in order.
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
        assert_eq!(statuses.last("a", Some(&status(3))), status(3), "somebody else has written one");
    }
}

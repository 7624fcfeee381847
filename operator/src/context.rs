//! What every reconcile can reach.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use kube::Client;
use parking_lot::Mutex;
use ragengine_operator_api::RagEngineStatus;

use crate::apply::Memory;
use crate::backoff::Failures;
use crate::engine::Engines;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::names::Identity;
use crate::rag_engine::validate::Defaults;
use crate::watches::{Caches, Referrers, Touched};

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
    /// What was sent last.
    pub memory: Memory,
    /// The statuses that were written last.
    pub statuses: Statuses,
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
        let names = [name.clone(), identity.settings(), identity.write_token(), identity.claim()];
        self.memory.forget(namespace, &names);
        self.referrers.forget(namespace, name);
        self.forget_uid(uid);
    }

    /// A RAGEngine is gone, and another has its name.
    pub fn forget_uid(&self, uid: &str) {
        self.engines.forget(uid);
        self.statuses.forget(uid);
        self.failures.forget(uid);
    }
}

/// The status of each RAGEngine as it was written last, by uid: the cache shows it a little later.
#[derive(Default)]
pub struct Statuses(Mutex<HashMap<String, RagEngineStatus>>);

impl Statuses {
    /// The status that counts. One that the cache shows need not be kept here too.
    pub fn last(&self, uid: &str, cached: Option<&RagEngineStatus>) -> RagEngineStatus {
        let mut statuses = self.0.lock();
        if cached.is_some() && statuses.get(uid) == cached {
            statuses.remove(uid);
        }
        statuses.get(uid).or(cached).cloned().unwrap_or_default()
    }

    /// A status was written.
    pub fn written(&self, uid: &str, status: RagEngineStatus) {
        self.0.lock().insert(uid.to_owned(), status);
    }

    /// It may have been written or not: what the cache shows counts again.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

/// The RAGEngines that something has happened to and that have not been reconciled since.
#[derive(Default)]
pub struct Waiting(Mutex<HashSet<(String, String)>>);

impl Waiting {
    /// Something has happened.
    pub fn begins(&self, engine: &Touched) {
        self.0.lock().insert((engine.namespace.clone().unwrap_or_default(), engine.name.clone()));
    }

    /// It is being reconciled.
    pub fn ends(&self, namespace: &str, name: &str) {
        self.0.lock().remove(&(namespace.to_owned(), name.to_owned()));
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Those that wait, in order.
    pub fn names(&self) -> BTreeSet<(String, String)> {
        self.0.lock().iter().cloned().collect()
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

//! Remembers deleted Indexes and the deletions of their documents that this process has started.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use parking_lot::Mutex;
use ragengine_operator_api::IndexDeletionPolicy;
use tokio::time::Instant;

use crate::names::Owner;

/// How long an Index must be missing before its documents are deleted, if this process did not see its deletion: it may
/// only not have been created yet, for example when a cluster is set up again with an existing volume.
const GRACE: Duration = Duration::from_secs(60);
/// How long a deletion with the policy `Delete` is remembered.
const KEPT: Duration = Duration::from_secs(3600);
/// The maximum number of deletions with the policy `Retain` that are remembered. The oldest are forgotten first.
const MAX_RETAINED: usize = 100_000;
/// How long the caches may not show a Job that was created.
const LAG: Duration = Duration::from_secs(10);

/// Deleted Indexes, and when their documents may be deleted.
#[derive(Default)]
pub struct Departures(Mutex<State>);

#[derive(Default)]
struct State {
    /// Indexes whose deletion was seen and whose documents are to be deleted, by uid.
    seen: HashMap<String, Instant>,
    /// Indexes whose deletion was seen and whose documents stay, by uid. Their engine may be unavailable for a long
    /// time, and its records may still say that the documents are to be deleted.
    retained: HashMap<String, Instant>,
    /// When a missing Index counts as deleted, by the uid of the engine and of the Index. Only the Indexes in the
    /// server's last answer are kept.
    missing: HashMap<String, HashMap<String, Instant>>,
    /// Deletion Jobs that were just created: the owner, and the name of the Job.
    starting: HashMap<Owner, (String, Instant)>,
}

impl Departures {
    /// Records the deletion of an Index and its deletion policy.
    pub fn saw_go(&self, uid: &str, policy: IndexDeletionPolicy) {
        let mut state = self.0.lock();
        state.seen.retain(|_, at| at.elapsed() < KEPT);
        match policy {
            IndexDeletionPolicy::Delete => drop(state.seen.insert(uid.to_owned(), Instant::now())),
            IndexDeletionPolicy::Retain => state.retain(uid),
        }
    }

    /// How long to wait before the documents of each missing Index are deleted from an engine. `None`: the documents
    /// stay.
    pub fn waits(&self, engine_uid: &str, missing: &[&str]) -> Vec<Option<Duration>> {
        let now = Instant::now();
        let mut state = self.0.lock();
        let before = state.missing.remove(engine_uid).unwrap_or_default();
        if missing.is_empty() {
            return Vec::new();
        }
        let due = |uid: &&str| {
            if state.seen.contains_key(*uid) { now } else { before.get(*uid).copied().unwrap_or(now + GRACE) }
        };
        let is_deleted = |uid: &&str| !state.retained.contains_key(*uid);
        let due: Vec<(&str, Option<Instant>)> =
            missing.iter().map(|uid| (*uid, is_deleted(uid).then(|| due(uid)))).collect();
        let kept = due.iter().filter_map(|(uid, at)| Some(((*uid).to_owned(), (*at)?))).collect();
        state.missing.insert(engine_uid.to_owned(), kept);
        due.into_iter().map(|(_, at)| Some(at?.saturating_duration_since(now))).collect()
    }

    /// Forgets an engine that was deleted.
    pub fn forget_engine(&self, uid: &str) {
        self.0.lock().missing.remove(uid);
    }

    /// Records that a Job that deletes the documents of an Index is about to be created.
    pub fn starts(&self, owner: &Owner, job_name: &str) {
        self.0.lock().starting.insert(owner.clone(), (job_name.to_owned(), Instant::now()));
    }

    /// Whether such a Job was created and is not in the caches yet. After 10 seconds the caches are believed.
    pub fn is_starting(&self, owner: &Owner, cached: &[Arc<Job>]) -> bool {
        let mut state = self.0.lock();
        let is_shown = |name: &String| cached.iter().any(|job| job.metadata.name.as_ref() == Some(name));
        state.starting.retain(|of, (name, at)| at.elapsed() < LAG && !(of == owner && is_shown(name)));
        state.starting.contains_key(owner)
    }
}

impl State {
    fn retain(&mut self, uid: &str) {
        if self.retained.len() >= MAX_RETAINED {
            let first = self.retained.iter().min_by_key(|(_, at)| **at).map(|(uid, _)| uid.clone());
            first.and_then(|first| self.retained.remove(&first));
        }
        self.retained.insert(uid.to_owned(), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use IndexDeletionPolicy::{Delete, Retain};

    use super::*;
    use crate::names::Kind;

    /// The waits of Indexes whose documents are all deleted.
    fn waits(departures: &Departures, engine: &str, missing: &[&str]) -> Vec<Duration> {
        departures.waits(engine, missing).into_iter().map(Option::unwrap).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_index_whose_deletion_was_not_seen_has_a_grace_period() {
        let departures = Departures::default();
        departures.saw_go("seen", Delete);
        assert_eq!(waits(&departures, "e", &["seen", "missing"]), [Duration::ZERO, GRACE]);
        tokio::time::advance(GRACE / 2).await;
        assert_eq!(waits(&departures, "e", &["missing", "new"]), [GRACE / 2, GRACE]);
        assert_eq!(waits(&departures, "another", &["missing"]), [GRACE], "grace periods are kept per engine");
        tokio::time::advance(GRACE).await;
        assert_eq!(waits(&departures, "e", &["missing"]), [Duration::ZERO]);
        departures.saw_go("missing just now", Delete);
        assert_eq!(waits(&departures, "e", &["missing just now"]), [Duration::ZERO]);
    }

    #[tokio::test(start_paused = true)]
    async fn retained_documents_stay_however_long_the_engine_is_away() {
        let departures = Departures::default();
        assert_eq!(departures.waits("e", &["a"]), [Some(GRACE)], "it was missing before its deletion was seen");
        departures.saw_go("a", Retain);
        tokio::time::advance(10 * KEPT).await;
        departures.saw_go("b", Delete);
        assert_eq!(departures.waits("e", &["a", "b"]), [None, Some(Duration::ZERO)]);
        assert_eq!(departures.waits("another", &["a"]), [None]);
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let departures = Departures::default();
        for answer in 0..100 {
            departures.waits("e", &[&format!("{answer}-a"), &format!("{answer}-b")]);
        }
        assert_eq!(departures.0.lock().missing["e"].len(), 2);
        departures.waits("e", &[]);
        assert_eq!(departures.0.lock().missing.len(), 0);
        departures.saw_go("seen", Delete);
        tokio::time::advance(2 * KEPT).await;
        departures.saw_go("another", Delete);
        assert_eq!(departures.0.lock().seen.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_started_deletion_is_known_before_the_caches_show_it() {
        let (departures, owner) =
            (Departures::default(), Owner { kind: Kind::Index, namespace: "n".into(), name: "a".into() });
        departures.starts(&owner, "a-gone-1");
        assert!(departures.is_starting(&owner, &[]));
        tokio::time::advance(LAG).await;
        assert!(!departures.is_starting(&owner, &[]));
        departures.starts(&owner, "a-gone-1");
        let mut shown = Job::default();
        shown.metadata.name = Some("a-gone-1".into());
        assert!(!departures.is_starting(&owner, &[Arc::new(shown)]));
    }
}

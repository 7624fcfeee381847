//! The Indexes that are gone, as far as this process knows them, and the deletions that begin.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use parking_lot::Mutex;
use ragengine_operator_api::IndexDeletionPolicy;
use tokio::time::Instant;

use crate::names::Owner;

/// How long an Index that this process never saw has to be missing: it may only not have been made yet, as when everything is set up anew beside
/// a volume that was kept.
const GRACE: Duration = Duration::from_secs(60);
/// How long it is remembered that one was seen to go whose documents go with it.
const KEPT: Duration = Duration::from_secs(3600);
/// The most that are remembered of those whose documents stay. The first are forgotten when there are more.
const MAX_RETAINED: usize = 100_000;
/// How long the caches may not show a Job that was made.
const LAG: Duration = Duration::from_secs(10);

/// The Indexes that are gone, and when their documents may be deleted.
#[derive(Default)]
pub struct Departures(Mutex<State>);

#[derive(Default)]
struct State {
    /// Indexes that were seen to go and whose documents go with them, by uid.
    seen: HashMap<String, Instant>,
    /// Those whose documents stay. Their engine may be away for as long as it likes, and its records may still say that they go.
    retained: HashMap<String, Instant>,
    /// When it is believed that those that are missing will not come, by the uid of the engine and theirs. The engine's server names them, so that only
    /// those of its last answer are kept.
    missing: HashMap<String, HashMap<String, Instant>>,
    /// Of Indexes of these names documents are about to be deleted, by Jobs of these names.
    starting: HashMap<Owner, (String, Instant)>,
}

impl Departures {
    /// An Index was there, and has gone. This is what it said last of its documents.
    pub fn saw_go(&self, uid: &str, policy: IndexDeletionPolicy) {
        let mut state = self.0.lock();
        state.seen.retain(|_, at| at.elapsed() < KEPT);
        match policy {
            IndexDeletionPolicy::Delete => drop(state.seen.insert(uid.to_owned(), Instant::now())),
            IndexDeletionPolicy::Retain => state.retain(uid),
        }
    }

    /// How long to wait before the documents of those that are missing are deleted from an engine, in their order. None: they stay.
    pub fn waits(&self, engine_uid: &str, missing: &[&str]) -> Vec<Option<Duration>> {
        let now = Instant::now();
        let mut state = self.0.lock();
        let before = state.missing.remove(engine_uid).unwrap_or_default();
        if missing.is_empty() {
            return Vec::new();
        }
        let due = |uid: &&str| match state.seen.contains_key(*uid) {
            true => now,
            false => before.get(*uid).copied().unwrap_or(now + GRACE),
        };
        let goes = |uid: &&str| !state.retained.contains_key(*uid);
        let due: Vec<(&str, Option<Instant>)> = missing.iter().map(|uid| (*uid, goes(uid).then(|| due(uid)))).collect();
        let kept = due.iter().filter_map(|(uid, at)| Some(((*uid).to_owned(), (*at)?))).collect();
        state.missing.insert(engine_uid.to_owned(), kept);
        due.into_iter().map(|(_, at)| Some(at?.saturating_duration_since(now))).collect()
    }

    /// An engine is gone.
    pub fn forget_engine(&self, uid: &str) {
        self.0.lock().missing.remove(uid);
    }

    /// A Job that deletes documents of Indexes of this name is about to be made.
    pub fn starts(&self, owner: &Owner, job_name: &str) {
        self.0.lock().starting.insert(owner.clone(), (job_name.to_owned(), Instant::now()));
    }

    /// Whether one was made that the caches do not show yet. After a while they are believed.
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

    /// Of some that all go.
    fn waits(departures: &Departures, engine: &str, missing: &[&str]) -> Vec<Duration> {
        departures.waits(engine, missing).into_iter().map(Option::unwrap).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_seen_to_go_is_not_waited_for_and_one_that_is_missing_is() {
        let departures = Departures::default();
        departures.saw_go("seen", Delete);
        assert_eq!(waits(&departures, "e", &["seen", "missing"]), [Duration::ZERO, GRACE]);
        tokio::time::advance(GRACE / 2).await;
        assert_eq!(waits(&departures, "e", &["missing", "new"]), [GRACE / 2, GRACE]);
        assert_eq!(waits(&departures, "another", &["missing"]), [GRACE], "another engine has another of that uid");
        tokio::time::advance(GRACE).await;
        assert_eq!(waits(&departures, "e", &["missing"]), [Duration::ZERO]);
        departures.saw_go("missing just now", Delete);
        assert_eq!(waits(&departures, "e", &["missing just now"]), [Duration::ZERO]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_to_leave_its_documents_leaves_them_for_as_long_as_its_engine_is_away() {
        let departures = Departures::default();
        assert_eq!(departures.waits("e", &["a"]), [Some(GRACE)], "it was missed before it was seen to go");
        departures.saw_go("a", Retain);
        tokio::time::advance(10 * KEPT).await;
        departures.saw_go("b", Delete);
        assert_eq!(departures.waits("e", &["a", "b"]), [None, Some(Duration::ZERO)]);
        assert_eq!(departures.waits("another", &["a"]), [None]);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_remembered_for_ever_and_of_what_a_server_says_only_the_last() {
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
    async fn a_deletion_that_begins_is_known_before_the_caches_show_it() {
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

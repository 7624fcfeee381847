use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::names::Owner;

/// How long an Index that this process never saw has to be missing: it may only not have been made yet, as when everything is set up anew beside
/// a volume that was kept.
const GRACE: Duration = Duration::from_secs(60);
/// How long it is remembered that one is missing.
const KEPT: Duration = Duration::from_secs(3600);
/// How long the caches may not show a Job that was made.
const LAG: Duration = Duration::from_secs(10);

/// The Indexes that are gone, and when their documents may be deleted.
#[derive(Default)]
pub struct Departures(Mutex<State>);

#[derive(Default)]
struct State {
    /// By uid.
    due: HashMap<String, Instant>,
    /// Of Indexes of these names documents are about to be deleted, by Jobs of these names.
    starting: HashMap<Owner, (String, Instant)>,
}

impl Departures {
    /// An Index was there, and has gone.
    pub fn saw_go(&self, uid: &str) {
        self.note(uid, Duration::ZERO);
    }

    /// How long to wait before the documents of one that is missing are deleted.
    pub fn wait(&self, uid: &str) -> Duration {
        self.note(uid, GRACE).saturating_duration_since(Instant::now())
    }

    fn note(&self, uid: &str, grace: Duration) -> Instant {
        let now = Instant::now();
        let mut state = self.0.lock();
        state.due.retain(|_, due| now.saturating_duration_since(*due) < KEPT);
        let due = state.due.entry(uid.to_owned()).or_insert(now + grace);
        *due = (*due).min(now + grace);
        *due
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Kind;

    #[tokio::test(start_paused = true)]
    async fn one_that_was_seen_to_go_is_not_waited_for_and_one_that_is_missing_is() {
        let departures = Departures::default();
        departures.saw_go("seen");
        assert_eq!((departures.wait("seen"), departures.wait("missing")), (Duration::ZERO, GRACE));
        tokio::time::advance(GRACE / 2).await;
        assert_eq!(departures.wait("missing"), GRACE / 2);
        tokio::time::advance(GRACE).await;
        assert_eq!(departures.wait("missing"), Duration::ZERO);
        departures.wait("seen just now");
        departures.saw_go("seen just now");
        assert_eq!(departures.wait("seen just now"), Duration::ZERO);
        tokio::time::advance(2 * KEPT).await;
        departures.wait("another");
        assert_eq!(departures.0.lock().due.len(), 1, "nothing is remembered for ever");
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

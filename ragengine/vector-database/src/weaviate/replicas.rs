//! How many replicas a write waits for.
//!
//! A search asks one replica of each shard. So a write waits for all replicas: then every later search finds it. While
//! one of them does not answer, writes wait for a majority, and a search may miss them until the replicas have exchanged
//! them. Objects are always read from a majority, which has every acknowledged write.
//!
//! Weaviate 1.35 goes on with a write whose client has left, for 20 seconds until all replicas are ready for it. A write
//! that is given up earlier may be done later, over newer ones. So a write waits longer than that.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ragengine_errors::Logged as _;
use tracing::{info, warn};
use uuid::Uuid;

use super::Client;
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;

/// The time after which all replicas are tried again.
const PAUSE: Duration = Duration::from_secs(30);

/// The wait before all replicas are asked a second time.
const WAIT: Duration = Duration::from_millis(300);

/// An attempt that fails within this time is made for all replicas once more.
const FAST_FAILURE: Duration = Duration::from_secs(2);

/// A replica that takes longer for a read counts as missing.
pub const MAX_READ_WAIT: Duration = Duration::from_secs(10);

/// A replica that takes longer for a write counts as missing. Weaviate gives it up after 20 seconds.
pub const MAX_WRITE_WAIT: Duration = Duration::from_secs(25);

/// When all replicas answer again, the one that was missing has what it missed after this time.
const CATCH_UP: Duration = Duration::from_secs(60);

/// The replicas that must have done a request. Of those that a read asks, the latest answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    All,
    Majority,
}

impl Replicas {
    /// Weaviate's parameter.
    pub fn consistency_level(self) -> (&'static str, &'static str) {
        let level = match self {
            Self::All => "ALL",
            Self::Majority => "QUORUM",
        };
        ("consistency_level", level)
    }
}

/// Whether a replica is missing, as far as the writes of a client know.
#[derive(Debug, Default)]
pub struct Missing(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When all replicas are tried again. None: none is missing.
    tried_at: Option<Instant>,
    /// Until when a replica that was missing may be behind.
    behind_until: Option<Instant>,
}

impl Missing {
    /// The replicas that the next write waits for. After the pause, one write tries all replicas. The others do not
    /// wait for its result.
    fn next(&self, now: Instant) -> Replicas {
        let tried_at = &mut self.0.lock().tried_at;
        match *tried_at {
            Some(at) if now < at => Replicas::Majority,
            Some(_) => {
                *tried_at = Some(now + PAUSE);
                Replicas::All
            }
            None => Replicas::All,
        }
    }

    /// Whether a replica is missing.
    pub fn is_one(&self) -> bool {
        self.0.lock().tried_at.is_some()
    }

    /// Whether a replica is missing, or was until a moment ago, so that it may lack writes.
    fn may_be_behind(&self, now: Instant) -> bool {
        let state = self.0.lock();
        state.tried_at.is_some() || state.behind_until.is_some_and(|until| now < until)
    }

    /// Notes that all replicas have a write. Returns whether one was missing before.
    fn none(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        let was_missing = state.tried_at.take().is_some();
        if was_missing {
            state.behind_until = Some(now + CATCH_UP);
        }
        was_missing
    }

    /// Notes that a majority has a write that not all replicas have. Returns whether none was missing before.
    fn one(&self, now: Instant) -> bool {
        self.0.lock().tried_at.replace(now + PAUSE).is_none()
    }
}

/// A write, which may be made several times.
pub struct Write<'a> {
    client: &'a Client,
    replicas: Replicas,
    /// When the attempt began that is being made.
    began: Instant,
    /// Whether an attempt for all replicas has failed.
    is_second: bool,
    /// Why not all replicas did it.
    failure: Option<VectorDatabaseError>,
}

impl<'a> Write<'a> {
    /// Before the first attempt.
    pub fn new(client: &'a Client) -> Self {
        let now = Instant::now();
        Self { client, replicas: client.missing.next(now), began: now, is_second: false, failure: None }
    }

    /// The replicas that the next attempt waits for.
    pub fn replicas(&self) -> Replicas {
        self.replicas
    }

    /// After an attempt that failed: whether to make it again, because it waited for all replicas. If it failed fast, it
    /// is made for all once more, as a replica may not know a new collection yet, and then for a majority.
    pub async fn goes_on(&mut self, error: &VectorDatabaseError) -> bool {
        if self.replicas == Replicas::Majority || !error.is_temporary() {
            return false;
        }
        if !self.is_second && self.began.elapsed() < FAST_FAILURE {
            self.is_second = true;
            tokio::time::sleep(WAIT).await;
        } else {
            self.replicas = Replicas::Majority;
            self.failure = Some(error.clone());
        }
        self.began = Instant::now();
        true
    }

    /// After the attempt that succeeded.
    pub fn has_succeeded(&self) {
        if self.replicas == Replicas::All {
            self.client.all_answer();
        } else if let Some(error) = &self.failure {
            self.client.one_is_missing(error);
        }
    }
}

impl Client {
    /// Notes that a replica does not answer, and why.
    pub fn one_is_missing(&self, error: &VectorDatabaseError) {
        if self.missing.one(Instant::now()) {
            warn!(
                reason = error.for_log(),
                "a replica of the vector database does not answer: writes wait for a majority, and searches may miss \
                 them until the replicas have exchanged them"
            );
            self.show_missing(1);
        }
    }

    /// Notes that all replicas have answered.
    fn all_answer(&self) {
        if self.missing.none(Instant::now()) {
            info!("all replicas of the vector database answer again");
            self.show_missing(0);
        }
    }

    /// Whether a replica may lack writes, as far as the writes of this client know.
    pub fn may_be_behind(&self) -> bool {
        self.missing.may_be_behind(Instant::now())
    }

    /// Whether all replicas have every write, as far as the writes of this client know. If one is missing, all of them
    /// are asked for an object, as no write may come that tries them.
    pub async fn has_all_replicas(&self, collection: &CollectionName) -> bool {
        if self.missing.is_one() && self.objects_on_all_replicas(collection, &[Uuid::nil()]).await.is_ok() {
            self.all_answer();
        }
        !self.may_be_behind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_write_tries_all_replicas_after_a_pause() {
        let (missing, start) = (Missing::default(), Instant::now());
        let after = |pauses: f64| start + PAUSE.mul_f64(pauses);
        assert_eq!(missing.next(start), Replicas::All);
        assert!(!missing.none(start), "none was missing");
        assert!(!missing.may_be_behind(start));
        assert!(missing.one(start));
        assert_eq!(missing.next(after(0.9)), Replicas::Majority);
        assert_eq!(missing.next(after(1.1)), Replicas::All);
        assert_eq!(missing.next(after(1.2)), Replicas::Majority, "the result of the other write is not known yet");
        assert!(!missing.one(after(1.3)), "it is known already");
        assert_eq!(missing.next(after(2.2)), Replicas::Majority);
        assert_eq!(missing.next(after(2.4)), Replicas::All);
        assert!(missing.none(after(2.4)));
        assert_eq!(missing.next(after(2.4)), Replicas::All);
    }

    #[test]
    fn a_replica_that_answers_again_may_be_behind_for_a_time() {
        let (missing, start) = (Missing::default(), Instant::now());
        missing.one(start);
        assert!(missing.may_be_behind(start + 100 * CATCH_UP), "it is missing");
        missing.none(start + CATCH_UP);
        assert!(!missing.is_one() && missing.may_be_behind(start + CATCH_UP.mul_f64(1.9)));
        assert!(!missing.none(start + CATCH_UP.mul_f64(1.9)), "another write does not make it longer");
        assert!(!missing.may_be_behind(start + 2 * CATCH_UP));
    }
}

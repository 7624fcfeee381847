//! How many replicas a write waits for.
//!
//! A search asks one replica of each shard. So a write waits for all replicas: then every later search finds it. While
//! one of them does not answer, writes wait for a majority, and a search may miss them until the replicas have exchanged
//! them. Objects are always read from a majority, which has every acknowledged write.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tracing::{info, warn};
use uuid::Uuid;

use super::Client;
use crate::VectorDatabaseError;
use crate::collection_name::CollectionName;

/// The time after which all replicas are tried again.
const PAUSE: Duration = Duration::from_secs(30);

/// The wait before all replicas are asked a second time.
const WAIT: Duration = Duration::from_millis(300);

/// A replica that takes longer for a write counts as missing.
pub const MAX_WAIT: Duration = Duration::from_secs(10);

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
pub struct Missing {
    /// When all replicas are tried again. None: none is missing.
    tried_at: Mutex<Option<Instant>>,
}

impl Missing {
    /// The replicas that the next write waits for. After the pause, one write tries all replicas. The others do not
    /// wait for its result.
    fn next(&self, now: Instant) -> Replicas {
        let mut tried_at = self.tried_at.lock();
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
        self.tried_at.lock().is_some()
    }

    /// Notes that all replicas have a write. Returns whether one was missing before.
    fn none(&self) -> bool {
        self.tried_at.lock().take().is_some()
    }

    /// Notes that a majority has a write that not all replicas have. Returns whether none was missing before.
    fn one(&self, now: Instant) -> bool {
        self.tried_at.lock().replace(now + PAUSE).is_none()
    }
}

/// A write, which may be made several times.
pub struct Write<'a> {
    client: &'a Client,
    replicas: Replicas,
    /// Whether an attempt for all replicas has failed.
    is_second: bool,
    /// Why not all replicas did it.
    failure: Option<VectorDatabaseError>,
}

impl<'a> Write<'a> {
    /// Before the first attempt.
    pub fn new(client: &'a Client) -> Self {
        Self { client, replicas: client.missing.next(Instant::now()), is_second: false, failure: None }
    }

    /// The replicas that the next attempt waits for.
    pub fn replicas(&self) -> Replicas {
        self.replicas
    }

    /// After an attempt that failed: whether to make it again, because it waited for all replicas. It is made for all
    /// once more, as a replica may not know a new collection yet, and then for a majority.
    pub async fn goes_on(&mut self, error: &VectorDatabaseError) -> bool {
        if self.replicas == Replicas::Majority || !error.is_temporary() {
            return false;
        }
        if !self.is_second && *error != VectorDatabaseError::Timeout {
            self.is_second = true;
            tokio::time::sleep(WAIT).await;
        } else {
            self.replicas = Replicas::Majority;
            self.failure = Some(error.clone());
        }
        true
    }

    /// After the attempt that succeeded.
    pub fn has_succeeded(&self) {
        if self.replicas == Replicas::All {
            self.client.all_answer();
        } else if let Some(error) = &self.failure
            && self.client.missing.one(Instant::now())
        {
            warn!(
                %error,
                "a replica of the vector database does not answer: writes wait for a majority, and searches may miss \
                 them until the replicas have exchanged them"
            );
            self.client.show_missing(1);
        }
    }
}

impl Client {
    /// Notes that all replicas have answered.
    fn all_answer(&self) {
        if self.missing.none() {
            info!("all replicas of the vector database answer again");
            self.show_missing(0);
        }
    }

    /// Whether all replicas have every write, as far as the writes of this client know. If one is missing, all of them
    /// are asked for an object, as no write may come that tries them.
    pub async fn has_all_replicas(&self, collection: &CollectionName) -> bool {
        if !self.missing.is_one() {
            return true;
        }
        if self.objects_on_all_replicas(collection, &[Uuid::nil()]).await.is_ok() {
            self.all_answer();
        }
        false
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
        assert!(!missing.none(), "none was missing");
        assert!(missing.one(start));
        assert_eq!(missing.next(after(0.9)), Replicas::Majority);
        assert_eq!(missing.next(after(1.1)), Replicas::All);
        assert_eq!(missing.next(after(1.2)), Replicas::Majority, "the result of the other write is not known yet");
        assert!(!missing.one(after(1.3)), "it is known already");
        assert_eq!(missing.next(after(2.2)), Replicas::Majority);
        assert_eq!(missing.next(after(2.4)), Replicas::All);
        assert!(missing.none());
        assert_eq!(missing.next(after(2.4)), Replicas::All);
    }
}

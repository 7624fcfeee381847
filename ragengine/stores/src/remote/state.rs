use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::Failed;
use super::failure::Failure;

/// An answer within this time shows that the server is in reach.
const RECENT: Duration = Duration::from_secs(2);

/// What is known about the server, shared by operations and the background task.
pub(super) struct State<C> {
    known: Mutex<Known<C>>,
    /// Wakes the background task.
    pub suspicion: Notify,
    /// How often the background task has tried to connect.
    attempts: watch::Sender<u64>,
}

struct Known<C> {
    /// The connection, or why the server cannot be used.
    connection: Result<C, Failure>,
    /// The connection's number.
    number: u64,
    /// Whether an operation lost the connection, and the background task has not tried since.
    is_lost: bool,
    /// The last failure. None after a success.
    problem: Option<String>,
    answered_at: Option<Instant>,
}

impl<C: Clone> State<C> {
    /// Nothing is known yet.
    pub fn new() -> Self {
        let failure = Failure::Unreachable("it is being connected".to_owned());
        let known = Known {
            problem: Some(failure.words()),
            connection: Err(failure),
            number: 0,
            is_lost: false,
            answered_at: None,
        };
        Self { known: Mutex::new(known), suspicion: Notify::new(), attempts: watch::channel(0).0 }
    }

    /// The connection and its number.
    ///
    /// # Errors
    ///
    /// Why the server cannot be used, and whether the next attempt may change that at once.
    pub fn connection(&self) -> Result<(C, u64), Failed> {
        let known = self.known.lock();
        match &known.connection {
            Ok(connection) => Ok((connection.clone(), known.number)),
            Err(failure) => Err(Failed { error: failure.error(), lost_connection: known.is_lost }),
        }
    }

    pub fn problem(&self) -> Option<String> {
        self.known.lock().problem.clone()
    }

    /// How often the background task has tried to connect.
    pub fn attempts(&self) -> u64 {
        *self.attempts.borrow()
    }

    /// Waits until the background task has tried more often than this.
    pub async fn attempt_after(&self, attempts: u64) {
        let mut subscribed = self.attempts.subscribe();
        // The sender lives as long as this state.
        drop(subscribed.wait_for(|now| *now > attempts).await);
    }

    /// The first attempt takes longer than this.
    pub fn is_slow(&self, limit: Duration) {
        let mut known = self.known.lock();
        if known.connection.is_err() {
            known.problem = Some(Failure::no_answer(limit).words());
        }
    }

    /// An operation got an answer.
    pub fn has_answered(&self) {
        let mut known = self.known.lock();
        known.answered_at = Some(Instant::now());
        if known.connection.is_ok() {
            known.problem = None;
        }
    }

    /// An operation failed on the connection of this number, which may have been replaced since.
    pub fn has_failed(&self, number: u64, failure: &Failure) {
        let mut known = self.known.lock();
        // The first failure of a connection has woken the background task.
        if known.number != number || known.is_lost {
            return;
        }
        known.problem = Some(failure.words());
        if failure.needs_connection() {
            known.connection = Err(failure.clone());
            known.is_lost = true;
            self.suspicion.notify_one();
        } else if matches!(failure, Failure::NoAnswer(_)) {
            // Without a check, the problem would stay until the next operation.
            self.suspicion.notify_one();
        }
    }

    /// An operation got no answer in time. If no other one got any, either, the connection is checked.
    pub fn is_suspect(&self) {
        if !self.has_answered_since(Instant::now().checked_sub(RECENT)) {
            self.suspicion.notify_one();
        }
    }

    /// Whether an operation got an answer since then. None is the time before all others.
    fn has_answered_since(&self, since: Option<Instant>) -> bool {
        let answered_at = self.known.lock().answered_at;
        answered_at.is_some_and(|answered_at| since.is_none_or(|since| answered_at >= since))
    }

    /// The background task has made this connection, beginning at `since`. An older one that gave no answer since then
    /// is replaced: it may hang without an error, such as after a failure of the network.
    pub fn is_ready(&self, since: Instant, connection: C) {
        let keeps = self.has_answered_since(Some(since));
        let mut known = self.known.lock();
        if known.connection.is_err() || !keeps {
            known.connection = Ok(connection);
            known.number += 1;
        }
        known.problem = None;
        known.is_lost = false;
        drop(known);
        self.attempts.send_modify(|attempts| *attempts += 1);
    }

    /// The background task has failed. Returns whether the problem is new.
    pub fn is_down(&self, failure: Failure) -> bool {
        let mut known = self.known.lock();
        let words = failure.words();
        let is_new = known.connection.as_ref().err() != Some(&failure);
        known.problem = Some(words);
        known.connection = Err(failure);
        known.is_lost = false;
        drop(known);
        self.attempts.send_modify(|attempts| *attempts += 1);
        is_new
    }
}

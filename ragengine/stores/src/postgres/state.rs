use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Executor as _};
use tokio::sync::{Notify, watch};

use super::failure::Failure;
use crate::StoreError;

/// Connections at most.
const MAX_CONNECTIONS: u32 = 10;

/// The time for getting a connection, which includes making one.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection that was not used for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Limits every statement to 5 s, so that the database does not work for callers who stopped waiting long ago. Without
/// compilation to machine code, which takes longer than our statements.
const SESSION: &str = "SET statement_timeout = 5000; SET jit = off";

/// An answer within this time shows that the database is in reach.
const RECENT: Duration = Duration::from_secs(2);

/// What is known about the database, shared by operations and the background task.
pub(super) struct State {
    options: PgConnectOptions,
    known: Mutex<Known>,
    /// Wakes the background task.
    pub suspicion: Notify,
    /// Whether the background task has tried once.
    has_tried: watch::Sender<bool>,
}

struct Known {
    /// The connections, or why the database cannot be used.
    pool: Result<PgPool, Failure>,
    /// The last failure. None after a success.
    problem: Option<String>,
    answered_at: Option<Instant>,
}

impl State {
    /// Nothing is known yet.
    pub fn new(options: PgConnectOptions) -> Self {
        let failure = Failure::Unreachable("it is being connected".to_owned());
        let known = Known { problem: Some(failure.words()), pool: Err(failure), answered_at: None };
        Self { options, known: Mutex::new(known), suspicion: Notify::new(), has_tried: watch::channel(false).0 }
    }

    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// The connections.
    ///
    /// # Errors
    ///
    /// Why the database cannot be used.
    pub fn pool(&self) -> Result<PgPool, StoreError> {
        self.known.lock().pool.clone().map_err(|failure| failure.error())
    }

    pub fn problem(&self) -> Option<String> {
        self.known.lock().problem.clone()
    }

    /// Waits until the background task has tried once.
    pub async fn first_attempt(&self) {
        let mut has_tried = self.has_tried.subscribe();
        // The sender lives as long as this state.
        drop(has_tried.wait_for(|tried| *tried).await);
    }

    /// The first attempt takes longer than this.
    pub fn is_slow(&self, limit: Duration) {
        let mut known = self.known.lock();
        if known.pool.is_err() {
            known.problem = Some(Failure::no_answer(limit).words());
        }
    }

    /// An operation got an answer.
    pub fn has_answered(&self) {
        let mut known = self.known.lock();
        known.answered_at = Some(Instant::now());
        if known.pool.is_ok() {
            known.problem = None;
        }
    }

    /// An operation failed. Returns its error.
    pub fn has_failed(&self, error: &sqlx::Error) -> StoreError {
        let failure = Failure::of(error);
        let mut known = self.known.lock();
        known.problem = Some(failure.words());
        if failure.needs_connection() {
            known.pool = Err(failure.clone());
            self.suspicion.notify_one();
        } else if matches!(failure, Failure::NoAnswer(_)) {
            drop(known);
            self.is_suspect();
        }
        failure.error()
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

    /// The background task has connected and migrated, beginning at `since`. Connections that gave no answer since then
    /// are replaced: they may hang without an error, such as after a failure of the network.
    pub fn is_ready(&self, since: Instant) {
        let keeps = self.has_answered_since(Some(since));
        let mut known = self.known.lock();
        if known.pool.is_err() || !keeps {
            known.pool = Ok(pool(&self.options));
        }
        known.problem = None;
        drop(known);
        self.has_tried.send_replace(true);
    }

    /// The background task has failed. Returns whether the problem is new.
    pub fn is_down(&self, failure: Failure) -> bool {
        let mut known = self.known.lock();
        let words = failure.words();
        let is_new = known.pool.as_ref().err() != Some(&failure);
        known.problem = Some(words);
        known.pool = Err(failure);
        drop(known);
        self.has_tried.send_replace(true);
        is_new
    }
}

/// Makes connections when they are needed.
fn pool(options: &PgConnectOptions) -> PgPool {
    let pool = PgPoolOptions::new()
        .max_connections(MAX_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(IDLE_TIMEOUT)
        .after_connect(|connection, _| Box::pin(async move { connection.execute(SESSION).await.map(drop) }));
    pool.connect_lazy_with(options.clone().disable_statement_logging())
}

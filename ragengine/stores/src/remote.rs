//! A server that stores share, and that may be out of reach.
//!
//! A background task connects. As long as it has not succeeded, operations fail at once. After an operation has failed,
//! the task does the same again, so that a restarted, replaced or emptied server is used as soon as it is there.

mod failure;
mod state;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::timeout;

pub(crate) use self::failure::Failure;
use self::state::State;
use crate::StoreError;

/// How long [`Remote::open`] waits for the server.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// A server with connections of this type. Clones of a connection are the same connection.
pub(crate) struct Remote<C> {
    state: Arc<State<C>>,
    watcher: AbortHandle,
}

impl<C: Clone + Send + Sync + 'static> Remote<C> {
    /// Connects with `connect`, now and whenever it is necessary. If the server is out of reach, operations fail until
    /// it is there. `setting` has its address, for the log. Must be called in a tokio runtime.
    pub async fn open<F>(setting: &'static str, connect: impl Fn() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<C, Failure>> + Send + 'static,
    {
        let state = Arc::new(State::new());
        let watcher = tokio::spawn(watcher::watch(Arc::clone(&state), setting, connect)).abort_handle();
        if timeout(OPEN_TIMEOUT, state.attempt_after(0)).await.is_err() {
            state.is_slow(OPEN_TIMEOUT);
        }
        Self { state, watcher }
    }

    /// What is wrong now, in words for people and without secrets. None if the last operation succeeded.
    pub fn problem(&self) -> Option<String> {
        self.state.problem()
    }

    /// The connection.
    ///
    /// # Errors
    ///
    /// Why the server cannot be used.
    pub fn connection(&self) -> Result<C, StoreError> {
        self.state.connection().map(|(connection, _)| connection).map_err(|failed| failed.error)
    }

    /// Does some work. Its failures start a new connection in the background if they could be those of the server.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`], [`StoreError::Timeout`], or an error of the work.
    pub async fn run<T, F>(&self, work: impl FnOnce(C) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, RemoteError>>,
    {
        self.attempt(work).await.map_err(|failed| failed.error)
    }

    /// The same with work that may be done twice: if its connection is lost, it is done again with the next one.
    /// Servers close connections that were idle for a while, and that shows only when they are used.
    ///
    /// # Errors
    ///
    /// As for [`Self::run`].
    pub async fn run_again<T, F>(&self, work: impl Fn(C) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, RemoteError>>,
    {
        let attempts = self.state.attempts();
        match self.attempt(&work).await {
            Err(failed) if failed.lost_connection => {
                self.state.attempt_after(attempts).await;
                self.run(work).await
            }
            result => result.map_err(|failed| failed.error),
        }
    }

    async fn attempt<T, F>(&self, work: impl FnOnce(C) -> F) -> Result<T, Failed>
    where
        F: Future<Output = Result<T, RemoteError>>,
    {
        let (connection, number) = self.state.connection()?;
        let mut unanswered = Unanswered { state: &self.state, has_ended: false };
        let result = work(connection).await;
        unanswered.has_ended = true;
        match result {
            Ok(value) => {
                self.state.has_answered();
                Ok(value)
            }
            Err(RemoteError::Store(error)) => {
                self.state.has_answered();
                Err(Failed { error, lost_connection: false })
            }
            Err(RemoteError::Server(failure)) => {
                self.state.has_failed(number, &failure);
                Err(Failed { error: failure.error(), lost_connection: failure.needs_connection() })
            }
        }
    }
}

/// Work that failed.
struct Failed {
    error: StoreError,
    /// Whether it may succeed with the next connection, which is being made.
    lost_connection: bool,
}

impl<C> Drop for Remote<C> {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

/// An error of work on a server: the server's, or one that the rows mean.
pub(crate) enum RemoteError {
    /// The server failed.
    Server(Failure),
    /// The server works, but the operation fails.
    Store(StoreError),
}

impl From<StoreError> for RemoteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Work in progress. If its caller stops waiting, the connection is checked.
struct Unanswered<'a, C: Clone> {
    state: &'a State<C>,
    has_ended: bool,
}

impl<C: Clone> Drop for Unanswered<'_, C> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.state.is_suspect();
        }
    }
}

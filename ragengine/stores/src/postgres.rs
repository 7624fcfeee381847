//! A PostgreSQL database, shared by stores and servers.
//!
//! A background task connects and migrates. As long as it has not succeeded, operations fail at once. After an
//! operation has failed, the task does the same again, so that a restarted, replaced or emptied database is used as
//! soon as it is there.

mod failure;
mod migrations;
mod options;
mod state;
mod text;
mod watcher;

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use tokio::task::AbortHandle;
use tokio::time::timeout;

pub use self::options::PostgresOptions;
use self::state::State;
pub(crate) use self::text::{text, texts};
use crate::StoreError;

/// How long [`Postgres::open`] waits for the database.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// A PostgreSQL database, which may be out of reach.
pub struct Postgres {
    state: Arc<State>,
    engine: String,
    watcher: AbortHandle,
}

impl Postgres {
    /// Opens the database and creates or migrates its tables. If it is out of reach, that is done in the background,
    /// and operations fail until then. Must be called in a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`StoreError::Url`], or [`StoreError::NewerSchema`] if a newer version of this program has migrated the tables.
    pub async fn open(options: &PostgresOptions) -> Result<Arc<Self>, StoreError> {
        let connect = options.parsed()?;
        let state = Arc::new(State::new(connect));
        let watcher = tokio::spawn(watcher::watch(Arc::clone(&state))).abort_handle();
        let postgres = Self { state, engine: options.engine.clone(), watcher };
        if timeout(OPEN_TIMEOUT, postgres.state.first_attempt()).await.is_err() {
            postgres.state.is_slow(OPEN_TIMEOUT);
        }
        match postgres.state.pool() {
            Err(error @ StoreError::NewerSchema(_)) => Err(error),
            _ => Ok(Arc::new(postgres)),
        }
    }

    /// What is wrong now, in words for people and without secrets. None if the last operation succeeded.
    pub fn problem(&self) -> Option<String> {
        self.state.problem()
    }

    /// The first column of every row.
    pub(crate) fn engine(&self) -> &str {
        &self.engine
    }

    /// Runs queries. Their failures start a new connection in the background if they could be those of the database.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`], [`StoreError::Timeout`], or an error of the queries.
    pub(crate) async fn run<T, F>(&self, queries: impl FnOnce(PgPool) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, PostgresError>>,
    {
        let pool = self.state.pool()?;
        let mut unanswered = Unanswered { state: &self.state, has_ended: false };
        let result = queries(pool).await;
        unanswered.has_ended = true;
        match result {
            Ok(value) => {
                self.state.has_answered();
                Ok(value)
            }
            Err(PostgresError::Store(error)) => {
                self.state.has_answered();
                Err(error)
            }
            Err(PostgresError::Sql(error)) => Err(self.state.has_failed(&error)),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

/// An error of queries: the database's, or one that the rows mean.
pub(crate) enum PostgresError {
    /// The database failed.
    Sql(sqlx::Error),
    /// The database works, but the operation fails.
    Store(StoreError),
}

impl From<sqlx::Error> for PostgresError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for PostgresError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Queries in progress. If their caller stops waiting, the connection is checked.
struct Unanswered<'a> {
    state: &'a State,
    has_ended: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.state.is_suspect();
        }
    }
}

//! A PostgreSQL database, shared by stores and servers. Its tables are created or migrated whenever it is connected.

mod failure;
mod migrations;
mod options;
mod pool;
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::PgPool;

pub use self::options::PostgresOptions;
pub(crate) use self::text::{text, texts};
use crate::StoreError;
use crate::remote::{Remote, RemoteError};

/// A PostgreSQL database, which may be out of reach.
pub struct Postgres {
    remote: Remote<PgPool>,
    engine: String,
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
        let has_migrated = Arc::new(AtomicBool::new(false));
        let remote = Remote::open("postgres.url", move || {
            let (connect, has_migrated) = (connect.clone(), Arc::clone(&has_migrated));
            async move {
                // A newer version may have been started since. The servers that it replaces work until they stop.
                migrations::migrate(&connect, has_migrated.load(Ordering::Relaxed)).await?;
                has_migrated.store(true, Ordering::Relaxed);
                Ok(pool::pool(&connect))
            }
        });
        let postgres = Self { remote: remote.await, engine: options.engine.clone() };
        match postgres.remote.connection() {
            Err(error @ StoreError::NewerSchema(_)) => Err(error),
            _ => Ok(Arc::new(postgres)),
        }
    }

    /// What is wrong now, in words for people and without secrets. None if the last operation succeeded.
    pub fn problem(&self) -> Option<String> {
        self.remote.problem()
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
        F: Future<Output = Result<T, RemoteError>>,
    {
        self.remote.run(queries).await
    }
}

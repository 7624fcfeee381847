//! The catalogue of the indexes on an external vector engine, which several servers share in PostgreSQL: which indexes
//! there are, how often each was changed, how far its sources are synchronised, and which server does a task.
//!
//! An index is in the catalogue before it is in the vector engine, and stays there until it has left that. So a creation
//! ([`IndexCatalogue::begin`], [`IndexCatalogue::finish`]) or deletion ([`IndexCatalogue::begin_deletion`],
//! [`IndexCatalogue::finish_deletion`]) that was interrupted can be completed by any server.

mod indexes;
mod queries;
mod staging;
mod sweeps;
mod syncs;
mod types;

use std::sync::Arc;

use sqlx::{PgPool, query, query_scalar};

pub use self::types::{Begun, CatalogueIndex, NewIndex, Published, SourceSyncRow, Sweep, Swept};
use crate::clock::representable;
use crate::operation::Operations;
use crate::postgres::text;
use crate::remote::RemoteError;
use crate::{Postgres, StoreError, StoreMetrics};

/// Keeps the catalogue. Each method returns an error of [`StoreError`] when the database fails, and after
/// [`OPERATION_TIMEOUT`](crate::OPERATION_TIMEOUT).
pub struct IndexCatalogue {
    postgres: Arc<Postgres>,
    operations: Operations,
}

impl IndexCatalogue {
    /// The catalogue in this database.
    pub fn new(postgres: Arc<Postgres>, metrics: StoreMetrics) -> Self {
        Self { postgres, operations: Operations::new(metrics, "catalogue") }
    }

    /// The id of this engine's data, a random UUID. It is made once, and is the same for all servers.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn data_id(&self) -> Result<String, StoreError> {
        let read = |statement| query_scalar::<_, String>(statement).bind(self.postgres.engine());
        let (known, made) = (read(queries::DATA_ID), read(queries::MAKE_DATA_ID));
        let work = |pool: PgPool| async move {
            match known.fetch_optional(&pool).await? {
                Some(id) => Ok(id),
                None => Ok(made.fetch_one(&pool).await?),
            }
        };
        self.run(work).await
    }

    /// Takes a task for this time, in milliseconds, from `now_ms` (in milliseconds since 1970) on. Returns whether
    /// `holder` has it: not if another holder has it at `now_ms`. A holder that has it already gets the new time, so
    /// that zero gives the task back.
    ///
    /// # Errors
    ///
    /// Those of the store. The task may have been taken nevertheless.
    pub async fn take_turn(&self, task: &str, holder: &str, for_ms: i64, now_ms: i64) -> Result<bool, StoreError> {
        let take = query(queries::TAKE_TURN)
            .bind(self.postgres.engine())
            .bind(text(task))
            .bind(text(holder))
            .bind(representable(now_ms))
            .bind(representable(now_ms.saturating_add(for_ms)));
        self.run(|pool| async move { Ok(take.execute(&pool).await?.rows_affected() > 0) }).await
    }

    /// Runs queries as one operation.
    async fn run<T, F>(&self, queries: impl FnOnce(PgPool) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, RemoteError>>,
    {
        self.operations.run(self.postgres.run(queries)).await
    }
}

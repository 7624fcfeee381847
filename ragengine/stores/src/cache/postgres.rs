mod queries;

use std::sync::Arc;

use sqlx::{PgPool, Row as _, query, query_scalar};

use super::types::Found;
use super::{CacheKey, CachedAnswer, Epoch, value};
use crate::clock::representable;
use crate::expiry::{Lifetime, SWEEP_ROWS};
use crate::postgres::text;
use crate::{Postgres, StoreError};

/// Rows of a step, as a number of the database.
const STEP: i64 = SWEEP_ROWS as i64;

/// Answers in PostgreSQL, and a counter for each index.
pub(super) struct PostgresCache {
    postgres: Arc<Postgres>,
}

/// What is found, and when it expires.
pub(super) struct Row {
    pub found: Found,
    /// In milliseconds since 1970. Zero without an answer.
    pub expires_at_ms: i64,
}

impl PostgresCache {
    pub fn new(postgres: Arc<Postgres>) -> Self {
        Self { postgres }
    }

    /// The index's epoch, which begins if it is missing.
    pub async fn epoch(&self, index_name: &str) -> Result<Epoch, StoreError> {
        let (engine, index_name) = (self.postgres.engine(), text(index_name));
        let read = |statement| query_scalar::<_, i64>(statement).bind(engine).bind(&*index_name);
        let (known, begun) = (read(queries::EPOCH), read(queries::BEGIN));
        let work = |pool: PgPool| async move {
            match known.fetch_optional(&pool).await? {
                Some(epoch) => Ok(Epoch(epoch)),
                None => Ok(Epoch(begun.fetch_one(&pool).await?)),
            }
        };
        self.postgres.run(work).await
    }

    pub async fn look_up(&self, key: &CacheKey, now_ms: i64) -> Result<Row, StoreError> {
        let (index_name, hash) = (text(key.index_name()), key.hex());
        let look_up = query(queries::LOOK_UP).bind(self.postgres.engine()).bind(&*index_name).bind(hash).bind(now_ms);
        let read = |pool: PgPool| async move {
            let Some(row) = look_up.fetch_optional(&pool).await? else { return Ok(None) };
            let stored: Option<&[u8]> = row.try_get("value")?;
            let expires_at_ms = row.try_get::<Option<i64>, _>("expires_at_ms")?.unwrap_or_default();
            let found = Found { epoch: Epoch(row.try_get("epoch")?), value: stored.and_then(value::decode) };
            Ok(Some(Row { found, expires_at_ms }))
        };
        match self.postgres.run(read).await? {
            Some(row) => Ok(row),
            None => {
                let found = Found { epoch: self.epoch(key.index_name()).await?, value: None };
                Ok(Row { found, expires_at_ms: 0 })
            }
        }
    }

    /// Returns whether it is kept: not if the index was purged since that epoch.
    pub async fn store(
        &self,
        key: &CacheKey,
        epoch: Epoch,
        answer: &CachedAnswer,
        lifetime: Lifetime,
    ) -> Result<bool, StoreError> {
        let index_name = text(key.index_name());
        let store = query(queries::STORE)
            .bind(self.postgres.engine())
            .bind(&*index_name)
            .bind(key.hex())
            .bind(epoch.0)
            .bind(value::encode(&answer.value))
            .bind(answer.confidence)
            .bind(lifetime.now_ms)
            .bind(lifetime.expires_at_ms());
        let work = |pool: PgPool| async move { Ok(store.execute(&pool).await?.rows_affected() > 0) };
        self.postgres.run(work).await
    }

    /// Returns whether it was there.
    pub async fn remove(&self, key: &CacheKey, epoch: Epoch) -> Result<bool, StoreError> {
        let remove = query(queries::REMOVE).bind(self.postgres.engine()).bind(key.hex()).bind(epoch.0);
        let work = |pool: PgPool| async move { Ok(remove.execute(&pool).await?.rows_affected() > 0) };
        self.postgres.run(work).await
    }

    /// Begins the next epoch of an index.
    pub async fn purge(&self, index_name: &str) -> Result<(), StoreError> {
        self.change(queries::PURGE, index_name).await
    }

    /// Deletes the counter of an index.
    pub async fn forget_index(&self, index_name: &str) -> Result<(), StoreError> {
        self.change(queries::FORGET, index_name).await
    }

    /// One step of deleting the answers of an index's earlier epochs. Returns whether nothing is left to delete.
    pub async fn delete_old(&self, index_name: &str) -> Result<bool, StoreError> {
        let (engine, index_name) = (self.postgres.engine(), text(index_name));
        let delete = query(queries::DELETE_OLD).bind(engine).bind(&*index_name).bind(STEP);
        let work = |pool: PgPool| async move { Ok(delete.execute(&pool).await?.rows_affected() == 0) };
        self.postgres.run(work).await
    }

    /// One step. Returns the number of deleted answers, and whether nothing is left to delete.
    pub async fn sweep(&self, now_ms: i64) -> Result<(u64, bool), StoreError> {
        let sweep = query(queries::SWEEP).bind(self.postgres.engine()).bind(representable(now_ms)).bind(STEP);
        let work = |pool: PgPool| async move { Ok(sweep.execute(&pool).await?.rows_affected()) };
        let deleted = self.postgres.run(work).await?;
        Ok((deleted, deleted == 0))
    }

    async fn change(&self, statement: &'static str, index_name: &str) -> Result<(), StoreError> {
        let index_name = text(index_name);
        let change = query(statement).bind(self.postgres.engine()).bind(&*index_name);
        let work = |pool: PgPool| async move { Ok(change.execute(&pool).await.map(drop)?) };
        self.postgres.run(work).await
    }
}

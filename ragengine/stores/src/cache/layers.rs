//! Redis in front of PostgreSQL. The epoch of an index is in PostgreSQL, and every look-up asks for it: so a purge
//! holds at once, also while Redis is out of reach. Redis is asked at the same time under the epoch that it has seen last.

use std::time::Duration;

use tokio::time::timeout;

use super::postgres::{PostgresCache, Row};
use super::redis::RedisCache;
use super::types::Found;
use super::{CacheKey, CachedAnswer, Epoch};
use crate::StoreError;
use crate::expiry::Lifetime;

/// How long a look-up waits for Redis. The rest of its time is for PostgreSQL.
const REDIS_LOOK_UP_TIMEOUT: Duration = Duration::from_millis(80);

/// How long a hit waits for its copy to Redis, which has just answered.
const COPY_TIMEOUT: Duration = Duration::from_millis(20);

/// How long changes wait for Redis. The rest of their time is for PostgreSQL.
const REDIS_CHANGE_TIMEOUT: Duration = Duration::from_millis(800);

/// Answers in Redis, and behind it in PostgreSQL.
pub(super) struct Layers {
    redis: RedisCache,
    postgres: PostgresCache,
}

impl Layers {
    pub fn new(redis: RedisCache, postgres: PostgresCache) -> Self {
        Self { redis, postgres }
    }

    pub fn postgres(&self) -> &PostgresCache {
        &self.postgres
    }

    pub async fn look_up(&self, key: &CacheKey, now_ms: i64) -> Result<Found, StoreError> {
        let redis = async { Ok(within(REDIS_LOOK_UP_TIMEOUT, self.redis.look_up_seen(key)).await) };
        let (seen, epoch) = tokio::try_join!(redis, self.postgres.epoch(key.index_name()))?;
        let has_answered = seen.is_ok();
        if let Ok(Some(found @ Found { value: Some(_), .. })) = seen
            && found.epoch == epoch
        {
            return Ok(found);
        }
        let Row { found, expires_at_ms } = self.postgres.look_up(key, now_ms).await?;
        if let Some(answer) = found.value.as_deref().filter(|_| has_answered) {
            let copy = self.redis.copy(key, found.epoch, answer, (expires_at_ms - now_ms).max(1));
            // Without the copy, the next look-up finds the answer in PostgreSQL, too.
            drop(within(COPY_TIMEOUT, copy).await);
        }
        Ok(found)
    }

    /// Returns whether it is kept: not if the index was purged since that epoch.
    pub async fn store(
        &self,
        key: &CacheKey,
        epoch: Epoch,
        answer: &CachedAnswer,
        lifetime: Lifetime,
    ) -> Result<bool, StoreError> {
        let is_kept = self.postgres.store(key, epoch, answer, lifetime).await?;
        if is_kept {
            let store = self.redis.store_seen(key, epoch, &answer.value, lifetime.expiry_ms);
            // Without it, a look-up finds the answer in PostgreSQL.
            drop(within(REDIS_CHANGE_TIMEOUT, store).await);
        }
        Ok(is_kept)
    }

    /// Returns whether it was there. If Redis fails, it may have the answer, and give it when it is back: then the
    /// index is purged.
    pub async fn remove(&self, key: &CacheKey) -> Result<bool, StoreError> {
        let epoch = self.postgres.epoch(key.index_name()).await?;
        // Only then from Redis, because a look-up copies what it finds in PostgreSQL.
        let was_there = self.postgres.remove(key, epoch).await?;
        if within(REDIS_CHANGE_TIMEOUT, self.redis.remove_seen(key, epoch)).await.is_err() {
            self.postgres.purge(key.index_name()).await?;
        }
        Ok(was_there)
    }

    pub async fn forget_index(&self, index_name: &str) -> Result<(), StoreError> {
        self.postgres.forget_index(index_name).await?;
        // What stays in Redis is of an earlier epoch, and is not read any more.
        drop(within(REDIS_CHANGE_TIMEOUT, self.redis.forget_index(index_name)).await);
        Ok(())
    }
}

/// Does some work, at most for this time.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    timeout(limit, work).await.unwrap_or(Err(StoreError::Timeout))
}

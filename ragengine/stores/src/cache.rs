//! Answers that are given again when the same question is asked.
//!
//! An answer is stored under a [`CacheKey`], which has everything that the answer depends on: with a change of it, such
//! as of the index, the key is another one. Besides, each index has an [`Epoch`]. A purge begins the next one, and
//! answers of earlier epochs are not given any more. Every look-up reads the epoch where all servers share it, so that
//! a purge through one server holds for all of them at once.
//!
//! [`Flights`] lets one of equal questions ask the model, and the others wait for its answer.

mod flights;
mod key;
mod layers;
mod memory;
mod postgres;
mod question;
mod redis;
mod types;
mod value;

use std::sync::Arc;
use std::time::Duration;

pub use self::flights::{Flight, Flights, Follower, Landed, Leader};
pub use self::key::{CacheKey, KeyParts};
use self::layers::Layers;
use self::memory::MemoryCache;
use self::postgres::PostgresCache;
pub use self::question::normalised;
use self::redis::RedisCache;
use self::types::Found;
pub use self::types::{CachedAnswer, Epoch, LookUp, MAX_ANSWER_BYTES};
use crate::clock::now_ms;
use crate::expiry::Lifetime;
use crate::operation::Operations;
use crate::redis::Redis;
use crate::{Postgres, StoreError, StoreMetrics};

/// The time limit of a look-up. Later, it has failed.
pub const LOOK_UP_TIMEOUT: Duration = Duration::from_millis(200);

/// Steps at most in which a purge deletes rows. The others are deleted when they expire.
const PURGE_STEPS: usize = 20;

/// Keeps answers. Each method says how long it takes at most if a backend is out of reach.
pub struct ResponseCache {
    backend: Backend,
    operations: Operations,
    metrics: StoreMetrics,
    /// The lifetime of an answer, in milliseconds.
    expiry_ms: i64,
}

enum Backend {
    Memory(Box<MemoryCache>),
    Redis(RedisCache),
    Postgres(PostgresCache),
    Layers(Layers),
}

impl ResponseCache {
    /// A cache in Redis, with PostgreSQL behind it: what Redis does not have is looked up there. With one of them, it
    /// is there only. With none, it is in the memory of this process: at most 10,000 answers or 64 MiB, of which the
    /// least recently used go. `expiry` is the lifetime of an answer.
    pub fn new(
        redis: Option<Arc<Redis>>,
        postgres: Option<Arc<Postgres>>,
        expiry: Duration,
        metrics: StoreMetrics,
    ) -> Self {
        let backend = match (redis.map(RedisCache::new), postgres.map(PostgresCache::new)) {
            (None, None) => Backend::Memory(Box::new(MemoryCache::new(metrics.clone()))),
            (Some(redis), None) => Backend::Redis(redis),
            (None, Some(postgres)) => Backend::Postgres(postgres),
            (Some(redis), Some(postgres)) => Backend::Layers(Layers::new(redis, postgres)),
        };
        metrics.begin_cache();
        let operations = Operations::new(metrics.clone(), "cache");
        Self { backend, operations, metrics, expiry_ms: Lifetime::clamped_ms(expiry) }
    }

    /// Looks up an answer if that needs no waiting: in the memory of this process. None with other backends.
    pub fn look_up_now(&self, key: &CacheKey) -> Option<LookUp> {
        let Backend::Memory(backend) = &self.backend else { return None };
        let found = self.operations.run_now(|| backend.look_up(key, now_ms()));
        Some(self.looked_up(Ok(found)))
    }

    /// Looks up an answer, at most for [`LOOK_UP_TIMEOUT`].
    pub async fn look_up(&self, key: &CacheKey) -> LookUp {
        self.looked_up(self.find(key).await)
    }

    /// The same for a question whose first look-up was a miss. It is not counted in the metric of look-ups.
    pub async fn look_up_again(&self, key: &CacheKey) -> LookUp {
        of(self.find(key).await).0
    }

    async fn find(&self, key: &CacheKey) -> Result<Found, StoreError> {
        let now_ms = now_ms();
        let found = self.operations.run_within(LOOK_UP_TIMEOUT, async {
            match &self.backend {
                Backend::Memory(backend) => Ok(backend.look_up(key, now_ms)),
                Backend::Redis(backend) => backend.look_up(key).await,
                Backend::Postgres(backend) => backend.look_up(key, now_ms).await.map(|row| row.found),
                Backend::Layers(backend) => backend.look_up(key, now_ms).await,
            }
        });
        found.await
    }

    /// Stores an answer under the epoch of the look-up that missed it, at most for
    /// [`OPERATION_TIMEOUT`](crate::OPERATION_TIMEOUT). An answer of the same key is replaced. Returns whether it is
    /// kept: not if the index was purged since, or if the answer has more than [`MAX_ANSWER_BYTES`].
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn store(&self, key: &CacheKey, epoch: Epoch, answer: &CachedAnswer) -> Result<bool, StoreError> {
        if answer.value.len() > MAX_ANSWER_BYTES {
            self.metrics.cache_changed("too_large");
            return Ok(false);
        }
        let lifetime = Lifetime { now_ms: now_ms(), expiry_ms: self.expiry_ms };
        let is_kept = self.operations.run(async {
            match &self.backend {
                Backend::Memory(backend) => Ok(backend.store(key, epoch, answer, lifetime)),
                Backend::Redis(backend) => backend.store(key, epoch, answer, lifetime).await,
                Backend::Postgres(backend) => backend.store(key, epoch, answer, lifetime).await,
                Backend::Layers(backend) => backend.store(key, epoch, answer, lifetime).await,
            }
        });
        let is_kept = is_kept.await?;
        self.metrics.cache_changed(if is_kept { "stored" } else { "outdated" });
        Ok(is_kept)
    }

    /// Removes an answer, at most for [`OPERATION_TIMEOUT`](crate::OPERATION_TIMEOUT). Returns whether it was there.
    /// With both backends, all answers of the index go if Redis is out of reach: it may have a copy.
    ///
    /// # Errors
    ///
    /// Those of the store. The answer may still be there.
    pub async fn remove(&self, key: &CacheKey) -> Result<bool, StoreError> {
        let was_there = self.operations.run(async {
            match &self.backend {
                Backend::Memory(backend) => Ok(backend.remove(key)),
                Backend::Redis(backend) => backend.remove(key).await,
                Backend::Postgres(backend) => backend.remove(key, backend.epoch(key.index_name()).await?).await,
                Backend::Layers(backend) => backend.remove(key).await,
            }
        });
        let was_there = was_there.await?;
        if was_there {
            self.metrics.cache_changed("removed");
        }
        Ok(was_there)
    }

    /// Begins the next epoch of an index. Look-ups that begin when this has returned, through any server, do not find
    /// what was stored before, nor what is stored later under an epoch from before. Takes at most
    /// [`OPERATION_TIMEOUT`](crate::OPERATION_TIMEOUT), and with PostgreSQL more for deleting rows that are not needed
    /// any more.
    ///
    /// # Errors
    ///
    /// Those of the store. The index may have been purged.
    pub async fn purge(&self, index_name: &str) -> Result<(), StoreError> {
        let purged = self.operations.run(async {
            match &self.backend {
                Backend::Memory(backend) => {
                    backend.purge(index_name);
                    Ok(())
                }
                Backend::Redis(backend) => backend.purge(index_name).await,
                Backend::Postgres(backend) => backend.purge(index_name).await,
                Backend::Layers(backend) => backend.postgres().purge(index_name).await,
            }
        });
        purged.await?;
        self.metrics.cache_changed("purged");
        self.delete_old(index_name).await;
        Ok(())
    }

    /// Forgets an index that was deleted, with its answers. Takes as long as a purge. For an index of the same name, it
    /// is the same as a purge.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn forget_index(&self, index_name: &str) -> Result<(), StoreError> {
        let forgotten = self.operations.run(async {
            match &self.backend {
                Backend::Memory(backend) => {
                    backend.purge(index_name);
                    Ok(())
                }
                Backend::Redis(backend) => backend.forget_index(index_name).await,
                Backend::Postgres(backend) => backend.forget_index(index_name).await,
                Backend::Layers(backend) => backend.forget_index(index_name).await,
            }
        });
        forgotten.await?;
        self.delete_old(index_name).await;
        Ok(())
    }

    /// Deletes answers that have expired at this time (in milliseconds since 1970). Returns their number. It works in
    /// small steps, each of which is one operation. Redis does the same by itself.
    ///
    /// # Errors
    ///
    /// Those of the store. Earlier steps stay done.
    pub async fn sweep(&self, now_ms: i64) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let step = self.operations.run(async {
                match &self.backend {
                    Backend::Memory(backend) => Ok((backend.sweep(now_ms), true)),
                    Backend::Redis(_) => Ok((0, true)),
                    Backend::Postgres(backend) => backend.sweep(now_ms).await,
                    Backend::Layers(backend) => backend.postgres().sweep(now_ms).await,
                }
            });
            let (step, is_last) = step.await?;
            deleted += step;
            if is_last {
                return Ok(deleted);
            }
        }
    }

    /// Deletes rows of earlier epochs. They are not read any more, so a failure, which is counted, does no harm.
    async fn delete_old(&self, index_name: &str) {
        let postgres = match &self.backend {
            Backend::Memory(_) | Backend::Redis(_) => return,
            Backend::Postgres(postgres) => postgres,
            Backend::Layers(layers) => layers.postgres(),
        };
        for _ in 0..PURGE_STEPS {
            if self.operations.run(postgres.delete_old(index_name)).await != Ok(false) {
                return;
            }
        }
    }

    fn looked_up(&self, found: Result<Found, StoreError>) -> LookUp {
        let (look_up, outcome) = of(found);
        self.metrics.cache_looked_up(outcome);
        look_up
    }
}

/// What was found, and the label of the outcome.
fn of(found: Result<Found, StoreError>) -> (LookUp, &'static str) {
    match found {
        Ok(Found { value: Some(value), .. }) => (LookUp::Hit(value), "hit"),
        Ok(Found { epoch, .. }) => (LookUp::Miss(epoch), "miss"),
        Err(_) => (LookUp::Failed, "failed"),
    }
}

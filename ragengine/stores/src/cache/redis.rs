mod scripts;

use std::sync::Arc;

use ::redis::{Cmd, cmd};

use super::types::Found;
use super::{CacheKey, CachedAnswer, Epoch, value};
use crate::StoreError;
use crate::expiry::Lifetime;
use crate::redis::Redis;

/// How long a removed answer cannot be copied from the database, in milliseconds. A copy is made within a look-up, so
/// it comes much sooner.
const REMOVED_MS: i64 = 10_000;

/// Answers in Redis, each under a key with its index's epoch, and a hash for each index. Redis deletes answers when
/// they expire, also those of earlier epochs.
pub(super) struct RedisCache {
    redis: Arc<Redis>,
}

impl RedisCache {
    pub fn new(redis: Arc<Redis>) -> Self {
        Self { redis }
    }

    pub async fn look_up(&self, key: &CacheKey) -> Result<Found, StoreError> {
        let mut look_up = self.script(scripts::LOOK_UP, key.index_name(), None);
        look_up.arg(self.prefix(key.index_name())).arg(suffix(key));
        let (epoch, stored): (i64, Option<Vec<u8>>) = self.redis.run(&look_up).await?;
        Ok(found(epoch, stored))
    }

    /// The same where a database has the epoch. None if the index's epoch is not known here.
    pub async fn look_up_seen(&self, key: &CacheKey) -> Result<Option<Found>, StoreError> {
        let mut look_up = self.script(scripts::LOOK_UP_SEEN, key.index_name(), None);
        look_up.arg(self.prefix(key.index_name())).arg(suffix(key));
        let seen: Option<(i64, Option<Vec<u8>>)> = self.redis.run(&look_up).await?;
        Ok(seen.map(|(epoch, stored)| found(epoch, stored)))
    }

    /// Returns whether it is kept: not if the index was purged since that epoch.
    pub async fn store(
        &self,
        key: &CacheKey,
        epoch: Epoch,
        answer: &CachedAnswer,
        lifetime: Lifetime,
    ) -> Result<bool, StoreError> {
        let mut store = self.script(scripts::STORE, key.index_name(), Some(self.answer(key, epoch)));
        store.arg(epoch.0).arg(lifetime.expiry_ms).arg(value::encode(&answer.value));
        self.redis.run(&store).await
    }

    /// Stores a copy of what is in the database, under the epoch of the database.
    pub async fn store_seen(
        &self,
        key: &CacheKey,
        epoch: Epoch,
        answer: &[u8],
        expiry_ms: i64,
    ) -> Result<(), StoreError> {
        self.redis.run(&self.seen(key, epoch, &value::encode(answer), expiry_ms)).await
    }

    /// The same if there is no answer. One that was just removed does not come back.
    pub async fn copy(&self, key: &CacheKey, epoch: Epoch, answer: &[u8], expiry_ms: i64) -> Result<(), StoreError> {
        let mut copy = self.seen(key, epoch, &value::encode(answer), expiry_ms);
        copy.arg("NX");
        self.redis.run(&copy).await
    }

    /// Returns whether it was there.
    pub async fn remove(&self, key: &CacheKey) -> Result<bool, StoreError> {
        let mut remove = self.script(scripts::REMOVE, key.index_name(), None);
        remove.arg(self.prefix(key.index_name())).arg(suffix(key));
        self.redis.run(&remove).await
    }

    /// Removes the copy of what was in the database. For a moment it is not copied again, because a look-up may just
    /// have read it.
    pub async fn remove_seen(&self, key: &CacheKey, epoch: Epoch) -> Result<(), StoreError> {
        self.redis.run(&self.seen(key, epoch, &[], REMOVED_MS)).await
    }

    pub async fn purge(&self, index_name: &str) -> Result<(), StoreError> {
        self.redis.run(&self.script(scripts::PURGE, index_name, None)).await
    }

    /// A later index of the same name gets a later epoch.
    pub async fn forget_index(&self, index_name: &str) -> Result<(), StoreError> {
        let mut forget = cmd("DEL");
        forget.arg(self.counter(index_name));
        self.redis.run(&forget).await
    }

    fn seen(&self, key: &CacheKey, epoch: Epoch, stored: &[u8], expiry_ms: i64) -> Cmd {
        let mut store = self.script(scripts::STORE_SEEN, key.index_name(), Some(self.answer(key, epoch)));
        store.arg(epoch.0).arg(expiry_ms).arg(stored);
        store
    }

    fn script(&self, script: &str, index_name: &str, answer: Option<String>) -> Cmd {
        let mut command = cmd("EVAL");
        command.arg(script).arg(1 + usize::from(answer.is_some())).arg(self.counter(index_name)).arg(answer);
        command
    }

    /// The hash of an index.
    fn counter(&self, index_name: &str) -> String {
        format!("{}:n:{index_name}", self.redis.prefix())
    }

    /// The key of an answer.
    fn answer(&self, key: &CacheKey, epoch: Epoch) -> String {
        format!("{}{}{}", self.prefix(key.index_name()), epoch.0, suffix(key))
    }

    /// What is before the epoch in the keys of an index's answers. A colon in the index's name does no harm, because
    /// what is behind it has always the same number of colons.
    fn prefix(&self, index_name: &str) -> String {
        format!("{}:c:{index_name}:", self.redis.prefix())
    }
}

/// What is behind the epoch in the key of an answer.
fn suffix(key: &CacheKey) -> String {
    format!(":{}", key.hex())
}

fn found(epoch: i64, stored: Option<Vec<u8>>) -> Found {
    Found { epoch: Epoch(epoch), value: stored.and_then(|stored| value::decode(&stored)) }
}

mod epochs;
mod limits;
mod table;

use parking_lot::Mutex;

use self::epochs::Epochs;
use self::limits::Limits;
use self::table::{Held, Table};
use super::types::Found;
use super::{CacheKey, CachedAnswer, Epoch};
use crate::StoreMetrics;
use crate::expiry::Lifetime;

/// Answers in the memory of this process.
pub(super) struct MemoryCache {
    known: Mutex<Known>,
    limits: Limits,
    metrics: StoreMetrics,
}

#[derive(Default)]
struct Known {
    answers: Table,
    epochs: Epochs,
}

impl MemoryCache {
    pub fn new(metrics: StoreMetrics) -> Self {
        Self { known: Mutex::default(), limits: Limits::default(), metrics }
    }

    /// The answer is then the one that was used last.
    pub fn look_up(&self, key: &CacheKey, now_ms: i64) -> Found {
        let mut known = self.known.lock();
        Found { epoch: known.epochs.of(key.index_name()), value: known.answers.used(key, now_ms) }
    }

    /// Returns whether it is kept: not if the index was purged since that epoch.
    pub fn store(&self, key: &CacheKey, epoch: Epoch, answer: &CachedAnswer, lifetime: Lifetime) -> bool {
        // The answer is copied without the lock.
        let held = Held::new(&answer.value, lifetime.expires_at_ms());
        self.change(|known| {
            let is_kept = known.epochs.of(key.index_name()) == epoch;
            if is_kept {
                known.answers.put(key, held);
                self.metrics.cache_evicted(known.answers.shrink(self.limits));
            }
            is_kept
        })
    }

    /// Returns whether it was there.
    pub fn remove(&self, key: &CacheKey) -> bool {
        self.change(|known| known.answers.remove(key))
    }

    pub fn purge(&self, index_name: &str) {
        self.change(|known| {
            known.answers.remove_of(index_name);
            known.epochs.raise(index_name, self.limits.indexes);
        });
    }

    /// Returns the number of deleted answers.
    pub fn sweep(&self, now_ms: i64) -> u64 {
        self.change(|known| known.answers.sweep(now_ms)) as u64
    }

    /// Changes what is known, and says in the metrics how much is there.
    fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock();
        let result = change(&mut known);
        self.metrics.cache_holds(known.answers.len(), known.answers.bytes());
        result
    }
}

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::mem::size_of;
use std::sync::Arc;

use super::super::CacheKey;
use super::limits::Limits;

/// An answer.
#[derive(Debug)]
pub(super) struct Held {
    value: Arc<[u8]>,
    /// In milliseconds since 1970.
    expires_at_ms: i64,
    /// The place in the order of uses.
    used: u64,
}

impl Held {
    /// An answer that is not in a table yet.
    pub fn new(value: &[u8], expires_at_ms: i64) -> Self {
        Self { value: value.into(), expires_at_ms, used: 0 }
    }

    /// The bytes it takes. Its key is there twice, with one copy of the index's name.
    fn bytes(&self, key: &CacheKey) -> usize {
        2 * size_of::<CacheKey>() + key.index_name().len() + size_of::<Self>() + self.value.len()
    }
}

/// All answers, and the order of their last uses.
#[derive(Debug, Default)]
pub(super) struct Table {
    answers: HashMap<CacheKey, Held>,
    /// The least recently used answer first.
    by_use: BTreeMap<u64, CacheKey>,
    /// The next place in the order.
    next_use: u64,
    /// The bytes of all answers.
    bytes: usize,
}

impl Table {
    /// An answer that has not expired. It is now the one that was used last.
    pub fn used(&mut self, key: &CacheKey, now_ms: i64) -> Option<Arc<[u8]>> {
        let held = self.answers.get_mut(key).filter(|held| held.expires_at_ms > now_ms)?;
        let key = self.by_use.remove(&held.used)?;
        held.used = self.next_use;
        self.by_use.insert(held.used, key);
        self.next_use += 1;
        Some(Arc::clone(&held.value))
    }

    /// Adds or replaces an answer, as the one that was used last.
    pub fn put(&mut self, key: &CacheKey, held: Held) {
        self.remove(key);
        let used = self.next_use;
        self.next_use += 1;
        self.bytes += held.bytes(key);
        self.by_use.insert(used, key.clone());
        self.answers.insert(key.clone(), Held { used, ..held });
    }

    /// Removes an answer. Returns whether it was there.
    pub fn remove(&mut self, key: &CacheKey) -> bool {
        let Some(held) = self.answers.remove(key) else { return false };
        self.bytes -= held.bytes(key);
        self.by_use.remove(&held.used);
        true
    }

    /// Removes the answers of an index.
    pub fn remove_of(&mut self, index_name: &str) {
        self.remove_if(|key, _| key.index_name() == index_name);
    }

    /// Removes the least recently used answers if there are too many. Returns their number.
    pub fn shrink(&mut self, limits: Limits) -> usize {
        let before = self.len();
        while self.len() > limits.answers || self.bytes > limits.bytes {
            let Some((_, key)) = self.by_use.pop_first() else { break };
            self.remove(&key);
        }
        before - self.len()
    }

    /// Removes answers that have expired. Returns their number.
    pub fn sweep(&mut self, now_ms: i64) -> usize {
        self.remove_if(|_, held| held.expires_at_ms <= now_ms)
    }

    /// The number of answers.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// The bytes of all answers.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn remove_if(&mut self, goes: impl Fn(&CacheKey, &Held) -> bool) -> usize {
        let before = self.len();
        let (by_use, bytes) = (&mut self.by_use, &mut self.bytes);
        self.answers.retain(|key, held| {
            let goes = goes(key, held);
            if goes {
                *bytes -= held.bytes(key);
                by_use.remove(&held.used);
            }
            !goes
        });
        before - self.len()
    }
}

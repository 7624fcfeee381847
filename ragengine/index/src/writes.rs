//! The state that the writers of an index share.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::view::Changed;
use super::{commit, turns};

/// The state that the writers of an index share.
pub(super) struct Writes {
    /// Held from the start of a transaction until the view shows it, so that both have the same order.
    pub lock: Mutex<()>,
    /// The changes that wait for the lock.
    pub queue: commit::Queue,
    /// Durable changes that could not be shown. Locked after `lock`.
    pub unshown: Mutex<Vec<Changed>>,
    /// Limits the writers that wait with a thread.
    pub turns: Arc<Semaphore>,
    /// Whether writers with prepared documents must wait, for a bounded time, while the next generation catches up.
    pub are_held_back: watch::Sender<bool>,
}

impl Default for Writes {
    fn default() -> Self {
        Self {
            lock: Mutex::new(()),
            queue: commit::Queue::default(),
            unshown: Mutex::default(),
            turns: turns::of_one_index(),
            are_held_back: watch::Sender::new(false),
        }
    }
}

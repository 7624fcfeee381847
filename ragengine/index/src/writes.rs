//! What writers of an index share.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::view::Changed;
use super::{commit, turns};

/// What writers of an index share.
pub(super) struct Writes {
    /// Held from the start of a transaction until the view shows it, so that the two never differ in order.
    pub lock: Mutex<()>,
    /// The changes that wait for it.
    pub queue: commit::Queue,
    /// Changes that are on disk and could not be shown. Taken after `lock`.
    pub unshown: Mutex<Vec<Changed>>,
    /// Writers that may wait at once, each of which has a thread.
    pub turns: Arc<Semaphore>,
    /// Writers that have prepared their documents wait, a bounded time: the next generation catches up.
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

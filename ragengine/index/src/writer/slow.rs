//! Remembers documents that exceeded the time limit for splitting, so that sending one again, in any request or
//! synchronisation, fails immediately.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;

use super::Incoming;
use crate::chunking::Sizes;

/// How many documents are remembered. They are forgotten at shutdown.
const MAX_REMEMBERED: usize = 1024;

static TOO_SLOW: Mutex<VecDeque<Attempt>> = Mutex::new(VecDeque::new());

/// An attempt to split a document. Another text, size or limit is another attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attempt {
    content_hash: String,
    sizes: Sizes,
    limit: Option<Duration>,
}

impl Attempt {
    pub fn of(incoming: &Incoming, sizes: Sizes) -> Self {
        Self { content_hash: incoming.content_hash.clone(), sizes, limit: incoming.cut_within }
    }

    pub fn was_too_slow(&self) -> bool {
        TOO_SLOW.lock().contains(self)
    }

    /// Remembers the attempt, in place of the oldest one if there are too many.
    pub fn remember_as_too_slow(self) {
        let mut too_slow = TOO_SLOW.lock();
        if too_slow.len() >= MAX_REMEMBERED {
            too_slow.pop_front();
        }
        too_slow.push_back(self);
    }
}

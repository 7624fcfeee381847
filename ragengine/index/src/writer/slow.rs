//! Documents that took longer to be cut than they may: whoever sends one again, in another request or by another synchronisation, is told so
//! at once.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;

use super::Incoming;
use crate::chunking::Sizes;

/// So many are remembered, until the server ends.
const MAX_REMEMBERED: usize = 1024;

static TOO_SLOW: Mutex<VecDeque<Attempt>> = Mutex::new(VecDeque::new());

/// What was tried: another text, other sizes or another limit make it another.
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

    /// Remembers it. The oldest is forgotten for it.
    pub fn remember_as_too_slow(self) {
        let mut too_slow = TOO_SLOW.lock();
        if too_slow.len() >= MAX_REMEMBERED {
            too_slow.pop_front();
        }
        too_slow.push_back(self);
    }
}

//! What goes on behind an index while it serves.

use std::sync::Weak;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use super::vectors::Segment;

/// What goes on behind an index while it serves: its vectors are put together again and kept, and what chunks cost is kept.
#[derive(Default)]
pub(super) struct Background {
    /// Vectors are being rebuilt, or a snapshot of them is being written.
    pub is_rebuilding: AtomicBool,
    /// Token counts are being written.
    pub is_keeping_counts: AtomicBool,
    /// The server stops: no rebuild is begun, and none goes on.
    pub is_at_rest: AtomicBool,
    /// The segment that the snapshot on disk is of.
    pub kept: Mutex<Weak<Segment>>,
}

impl Background {
    /// Of an index whose snapshot on disk is of this segment.
    pub fn with_kept(kept: Weak<Segment>) -> Self {
        Self { kept: Mutex::new(kept), ..Self::default() }
    }
}

//! Work that runs in the background of an index while it serves.

use std::sync::Weak;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use super::vectors::Segment;

/// Work that runs in the background of an index while it serves: rebuilds of the vectors, their snapshots, and saving
/// token counts.
#[derive(Default)]
pub(super) struct Background {
    /// Vectors are being rebuilt, or a snapshot of them is being written.
    pub is_rebuilding: AtomicBool,
    /// Token counts are being written.
    pub is_keeping_counts: AtomicBool,
    /// The server is shutting down: no rebuild starts, and a running one stops.
    pub is_shutting_down: AtomicBool,
    /// The segment that the snapshot on disk was made from.
    pub kept: Mutex<Weak<Segment>>,
}

impl Background {
    /// The state of an index whose snapshot on disk was made from this segment.
    pub fn with_kept(kept: Weak<Segment>) -> Self {
        Self { kept: Mutex::new(kept), ..Self::default() }
    }
}

//! The state of a generation that is being built, shared between the builder and the API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Progress;
use crate::Index;

/// The state of a generation that is being built.
#[derive(Default)]
pub struct Building {
    progress: Mutex<Progress>,
    next: Mutex<Option<Arc<Index>>>,
    /// Whether a builder runs. Two builders would take each other's changes.
    has_builder: AtomicBool,
}

impl Building {
    /// A generation without documents, out of `total`.
    pub fn new(total: u64) -> Self {
        Self { progress: Mutex::new(Progress { total, ..Progress::default() }), ..Self::default() }
    }

    /// Claims the build. Returns false if another builder has claimed it.
    pub fn begin(&self) -> bool {
        !self.has_builder.swap(true, Ordering::AcqRel)
    }

    /// The current progress.
    pub fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// The index of the generation, once it is open.
    pub fn next(&self) -> Option<Arc<Index>> {
        self.next.lock().clone()
    }

    pub(crate) fn set_next(&self, next: Option<Arc<Index>>) {
        *self.next.lock() = next;
    }

    pub(crate) fn fails(&self, error: String) {
        self.progress.lock().error = Some(error);
    }

    pub(crate) fn reaches(&self, documents: u64, total: u64) {
        *self.progress.lock() = Progress { documents, total, error: None };
    }
}

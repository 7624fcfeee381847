//! A generation that is being built, as everybody sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Progress;
use crate::Index;

/// A generation that is being built, for those who ask how far it is.
#[derive(Default)]
pub struct Building {
    progress: Mutex<Progress>,
    next: Mutex<Option<Arc<Index>>>,
    /// Somebody builds it: two would take each other's changes.
    has_builder: AtomicBool,
}

impl Building {
    /// One that has nothing of so many documents.
    pub fn new(total: u64) -> Self {
        Self { progress: Mutex::new(Progress { total, ..Progress::default() }), ..Self::default() }
    }

    /// Whether nobody builds it yet: whoever asks does from now on, and whoever asks later does not.
    pub fn begin(&self) -> bool {
        !self.has_builder.swap(true, Ordering::AcqRel)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.progress.lock().clone()
    }

    /// The generation, as soon as it is open.
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

//! Showing durable changes. A change that is durable but cannot be shown, because there is no memory for its vectors,
//! is kept. It is shown before any later change and retried in the background. So no restart is needed, and changes are
//! shown in order.

use std::sync::Arc;

use tracing::{info, warn};

use super::view::{Changed, View};
use super::{Index, IndexError};

impl Index {
    /// Shows the current state of the store: these changes, and earlier ones that could not be shown. The caller must
    /// hold `writes.lock`.
    ///
    /// # Errors
    ///
    /// [`IndexError::NotShown`]. The changes are kept for the next attempt.
    pub(super) fn show(&self, changed: Vec<Changed>) -> Result<(), IndexError> {
        let mut unshown = self.writes.unshown.lock();
        // Recorded first: they are durable, even if showing them fails.
        unshown.extend(changed);
        self.try_to_show(&unshown)
            .map_err(|error| IndexError::NotShown { index: self.name.clone(), reason: error.to_string() })?;
        unshown.clear();
        Ok(())
    }

    fn try_to_show(&self, changed: &[Changed]) -> Result<(), IndexError> {
        let reader = Arc::new(self.store.reader()?);
        // The view is locked only for the swap.
        let vectors = self.view.read().vectors().clone();
        let change = View::prepare(&vectors, changed, reader)?;
        drop(vectors);
        self.view.write().show(change);
        Ok(())
    }

    /// Shows changes that could not be shown before. No change is written while that fails, so the kept changes stay
    /// bounded. The caller must hold `writes.lock`.
    pub(super) fn require_shown(&self) -> Result<(), IndexError> {
        if self.has_unshown() { self.show(Vec::new()) } else { Ok(()) }
    }

    /// Whether searches lack changes that are durable.
    pub fn has_unshown(&self) -> bool {
        !self.writes.unshown.lock().is_empty()
    }

    /// Retries showing changes. Blocks on writers, so call it outside the async runtime.
    pub fn show_unshown(self: &Arc<Self>) {
        let shown = {
            let _writing = self.writes.lock.lock();
            self.require_shown()
        };
        match shown {
            Ok(()) => {
                info!(index = self.name(), "changes that could not be shown are shown now");
                self.rebuild_if_due();
            }
            Err(error) => warn!(index = self.name(), %error, "changes still cannot be shown"),
        }
    }

    /// Records that a client is informed that the index exists or has documents. From then on it is not deleted as
    /// unused.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`] or [`IndexError::Superseded`] if it is gone already.
    pub(super) fn acknowledge(&self) -> Result<(), IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        self.was_acknowledged();
        Ok(())
    }

    /// The same, for a caller that holds `writes.lock` and has checked that the index is present.
    pub(super) fn was_acknowledged(&self) {
        self.lifecycle.acknowledge();
    }
}

//! Showing what is on disk. A change that is there and cannot be shown at once, because there is no memory for its vectors, is kept, shown
//! before whatever comes next, and tried again in the background: no restart is needed, and nothing is shown out of order.

use std::sync::Arc;

use tracing::{info, warn};

use super::view::{Changed, View};
use super::{Index, IndexError};

impl Index {
    /// Shows the store as it is now: with these changes, and those before them that could not be shown. To be called by whoever holds
    /// `writing`.
    ///
    /// # Errors
    ///
    /// [`IndexError::NotShown`]. The changes are kept then.
    pub(super) fn show(&self, changed: Vec<Changed>) -> Result<(), IndexError> {
        let mut unshown = self.writes.unshown.lock();
        // First: they are on disk, whatever happens here.
        unshown.extend(changed);
        self.try_to_show(&unshown)
            .map_err(|error| IndexError::NotShown { index: self.name.clone(), reason: error.to_string() })?;
        unshown.clear();
        Ok(())
    }

    fn try_to_show(&self, changed: &[Changed]) -> Result<(), IndexError> {
        let reader = Arc::new(self.store.reader()?);
        // The view's lock is held only to put in what is ready.
        let vectors = self.view.read().vectors().clone();
        let change = View::prepare(&vectors, changed, reader)?;
        drop(vectors);
        self.view.write().show(change);
        Ok(())
    }

    /// Shows what could not be shown before: nothing new is written as long as that fails, so that what is kept stays bounded. To be called
    /// by whoever holds `writing`.
    pub(super) fn require_shown(&self) -> Result<(), IndexError> {
        if self.has_unshown() { self.show(Vec::new()) } else { Ok(()) }
    }

    /// Whether something is on disk that searches do not find yet.
    pub fn has_unshown(&self) -> bool {
        !self.writes.unshown.lock().is_empty()
    }

    /// Tries again to show what is on disk. It waits for writers: run it apart.
    pub fn show_unshown(self: &Arc<Self>) {
        let shown = {
            let _writing = self.writes.lock.lock();
            self.require_shown()
        };
        match shown {
            Ok(()) => {
                info!(index = self.name(), "what was on disk is shown");
                self.rebuild_if_due();
            }
            Err(error) => warn!(index = self.name(), %error, "still not shown"),
        }
    }

    /// Somebody is told that the index is there, or has something. It is not deleted as empty any more because of somebody else, whose
    /// documents it was made for.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`] or [`IndexError::Superseded`] when it is gone already.
    pub(super) fn acknowledge(&self) -> Result<(), IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        self.was_acknowledged();
        Ok(())
    }

    /// The same, by whoever holds `writing` and has made sure that it is there.
    pub(super) fn was_acknowledged(&self) {
        self.lifecycle.was_told_of();
    }
}

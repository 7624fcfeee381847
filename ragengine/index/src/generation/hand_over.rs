//! The last step of a build: switching from the serving generation to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sources::Syncs;
use crate::{Index, IndexError};

/// The longest time that writers are held back.
const HELD_BACK: Duration = Duration::from_secs(10);

/// Holds back the writers of an index until it is dropped.
pub(crate) struct HoldBack {
    index: Arc<Index>,
    began: Instant,
}

impl HoldBack {
    pub(crate) fn begin(index: &Arc<Index>) -> Self {
        index.writes.are_held_back.send_replace(true);
        Self { index: Arc::clone(index), began: Instant::now() }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.began.elapsed() > HELD_BACK
    }
}

impl Drop for HoldBack {
    fn drop(&mut self) {
        self.index.writes.are_held_back.send_replace(false);
    }
}

impl Index {
    /// Waits while the next generation catches up, for a bounded time. The caller must hold no lock.
    pub(crate) async fn wait_while_catching_up(&self) {
        let mut are_held_back = self.writes.are_held_back.subscribe();
        // After a timeout the write continues. If another generation serves by then, the caller repeats the write
        // there.
        drop(tokio::time::timeout(HELD_BACK, are_held_back.wait_for(|are_held_back| !are_held_back)).await);
    }

    /// Sets the revisions of documents, by their numbers.
    pub(crate) fn put_revisions(&self, revisions: &[(u64, Option<String>)]) -> Result<(), IndexError> {
        if revisions.is_empty() {
            return Ok(());
        }
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        self.store.write(|transaction| {
            revisions.iter().try_for_each(|(number, revision)| transaction.put_revision(*number, revision.as_deref()))
        })?;
        self.show(Vec::new())
    }

    /// Hands over to the next generation if `last` confirms that nothing is missing: copies the records of sources and
    /// calls `publish`. Waiting writers then get [`IndexError::Superseded`].
    pub(crate) fn hand_over(
        &self,
        next: &Self,
        last: impl FnOnce() -> Result<bool, IndexError>,
        publish: impl FnOnce() -> Result<(), IndexError>,
    ) -> Result<bool, IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        if !last()? {
            return Ok(false);
        }
        next.take_syncs(&self.syncs.read())?;
        publish()?;
        self.lifecycle.supersede();
        Ok(true)
    }

    fn take_syncs(&self, syncs: &Syncs) -> Result<(), IndexError> {
        let _writing = self.writes.lock.lock();
        let known: Vec<String> = self.store.reader()?.syncs()?.into_iter().map(|(source, _)| source).collect();
        if !known.is_empty() || syncs.on_disk().next().is_some() {
            self.store.write(|transaction| {
                known.iter().try_for_each(|source| transaction.put_sync(source, None))?;
                syncs.on_disk().try_for_each(|(source, sync)| transaction.put_sync(source, Some(sync)))
            })?;
        }
        // The next generation must show everything before it serves.
        self.show(Vec::new())?;
        *self.syncs.write() = syncs.clone();
        Ok(())
    }
}

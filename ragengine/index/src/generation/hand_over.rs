//! The last step of building: the index that serves gives its place to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sources::Syncs;
use crate::{Index, IndexError};

/// How long writers are held back, at most.
const HELD_BACK: Duration = Duration::from_secs(10);

/// Holds writers of an index back until it is dropped.
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
    /// While the next generation catches up, writers wait, a bounded time. They hold nothing meanwhile.
    pub(crate) async fn wait_while_catching_up(&self) {
        let mut are_held_back = self.writes.are_held_back.subscribe();
        // In time or not: the write goes on, and is done again by the caller when another generation serves by then.
        drop(tokio::time::timeout(HELD_BACK, are_held_back.wait_for(|are_held_back| !are_held_back)).await);
    }

    /// Puts revisions of documents by their numbers.
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

    /// Gives its place to the next generation, when `last` says that nothing is missing: with what is known of its sources, by what
    /// `publish` does. Writers that wait are told that there is another.
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
        // All of it: what it cannot show would be missing from now on.
        self.show(Vec::new())?;
        *self.syncs.write() = syncs.clone();
        Ok(())
    }
}

//! The sources of an index: their documents, and the records of their synchronisations.

mod check;
mod syncs;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

pub use check::{InvalidSync, check_sync};
use ragengine_client::wire::{OwnedSources, PutSourceSync, SourceDescription, SourceOwner, SourceSync, SyncPhase};
use syncs::SyncEvent;
pub use syncs::{Held, LEASE, Moment, SharedSync, SyncUpdate, Syncs};
use tracing::info;

use super::view::Changed;
use super::{Index, IndexError, IndexSize};
use ragengine_errors::texts;

/// Documents deleted in one transaction. Other writers wait for each transaction.
const DELETED_AT_ONCE: usize = 200;

impl Index {
    /// All sources with documents or a synchronisation record, ordered by name.
    pub fn sources(&self) -> Vec<SourceDescription> {
        let mut names = self.view.read().source_names();
        names.extend(self.syncs.read().sources().map(str::to_owned));
        names.iter().map(|name| self.source(name)).collect()
    }

    /// Describes a source. An unknown source is empty.
    pub fn source(&self, name: &str) -> SourceDescription {
        let IndexSize { documents, chunks, text_bytes } = self.view.read().source_size(name);
        let sync = self.syncs.read().latest(name).cloned();
        SourceDescription { name: name.to_owned(), documents, chunks, bytes: text_bytes, sync }
    }

    /// The owners whose sources are to be deleted when the owner is gone.
    pub fn owners(&self) -> Vec<OwnedSources> {
        owned_sources(self.name(), &self.syncs.read())
    }

    /// How many sources are being synchronised.
    pub fn running_syncs(&self, now: Instant) -> usize {
        self.syncs.read().running(now)
    }

    /// Records the state of a source's synchronisation. Waits for other writers and may write, so call it outside the
    /// async runtime.
    ///
    /// The state of a running synchronisation is kept only in memory, except for its owner. A finished one is durable
    /// when this returns. Nothing is written if it differs from the previous one only in its id and times, so a
    /// synchronisation that found nothing new costs no write.
    ///
    /// # Errors
    ///
    /// [`IndexError::SourceHeld`] while another synchronisation has the source, or an error of the disk.
    pub fn put_sync(&self, source: &str, put: PutSourceSync, now: &Moment) -> Result<SourceDescription, IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        let update = self.syncs.read().update(source, put, now)?;
        if update.is_to_be_saved() {
            self.store.write(|transaction| transaction.put_sync(source, update.saved()))?;
        }
        self.was_acknowledged();
        log_sync(self.name(), source, &update);
        self.syncs.write().apply(source, update);
        Ok(self.source(source))
    }

    /// Deletes a source's documents in batches, and then its synchronisation record. Returns the number of documents.
    /// Blocks on the disk, so call it outside the async runtime.
    ///
    /// # Errors
    ///
    /// An error of the disk, or [`IndexError::NotShown`]. Batches before the error stay deleted.
    pub fn delete_source(self: &Arc<Self>, source: &str) -> Result<u64, IndexError> {
        // First, because durable documents that the view lacks must be deleted, too.
        self.bring_up_to_date()?;
        let numbers = self.view.read().numbers_of_source(source);
        let mut documents = 0;
        for batch in numbers.chunks(DELETED_AT_ONCE) {
            documents += self.delete_of_source(source, batch)?;
        }
        self.forget_sync(source)?;
        self.rebuild_if_due();
        Ok(documents)
    }

    /// Deletes documents, except those that belong to another source by now.
    fn delete_of_source(&self, source: &str, numbers: &[u64]) -> Result<u64, IndexError> {
        let (source, numbers) = (source.to_owned(), numbers.to_vec());
        self.commit(0, move |transaction| {
            let mut deleted = Vec::new();
            for &number in &numbers {
                let Some(document) = transaction.document(number)? else { continue };
                if document.source.as_deref() == Some(&source) {
                    transaction.remove_document(number, &document)?;
                    deleted.push(Changed { number, before: Some(document), after: None });
                }
            }
            Ok((deleted.len() as u64, deleted))
        })
    }

    fn forget_sync(&self, source: &str) -> Result<(), IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        if self.syncs.read().is_saved(source) {
            self.store.write(|transaction| transaction.put_sync(source, None))?;
        }
        self.syncs.write().forget(source);
        Ok(())
    }
}

/// The owners whose sources in an index are to be deleted when the owner is gone.
pub fn owned_sources(index: &str, syncs: &Syncs) -> Vec<OwnedSources> {
    let owners: BTreeSet<&SourceOwner> = syncs.owners().filter(|owner| owner.when_gone.is_delete()).collect();
    let owned = |owner: &SourceOwner| OwnedSources {
        index: index.to_owned(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        scope: owner.scope.clone(),
    };
    owners.into_iter().map(owned).collect()
}

/// Logs the beginning and the end of a synchronisation.
pub fn log_sync(index: &str, source: &str, update: &SyncUpdate) {
    let SourceSync { sync_id, phase, done, total, held_back, error_count, .. } = update.latest();
    let sync_id = texts::id(sync_id);
    match update.event() {
        SyncEvent::Started => info!(index, source, sync_id, "sync started"),
        SyncEvent::Continued => {}
        SyncEvent::Ended { elapsed } => {
            let outcome = match phase {
                SyncPhase::Failed => "failed",
                SyncPhase::Running | SyncPhase::Complete => "complete",
            };
            let (errors, elapsed_s) = (error_count, elapsed.as_secs_f64());
            info!(index, source, sync_id, outcome, done, total, errors, held_back, elapsed_s, "sync ended");
        }
    }
}

#[cfg(test)]
mod tests;

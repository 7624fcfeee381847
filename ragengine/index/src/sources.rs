//! The sources of an index: what it has of each, and how their synchronisations went.

mod check;
mod syncs;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

pub use check::{InvalidSync, check_sync};
use ragengine_client::wire::{OwnedSources, PutSourceSync, SourceDescription, SourceOwner, SourceSync, SyncPhase};
pub(super) use syncs::Syncs;
pub use syncs::{Held, LEASE, Moment};
use syncs::{News, Step};
use tracing::info;

use super::view::Changed;
use super::{Index, IndexError, IndexSize};
use ragengine_errors::texts;

/// Documents deleted in one transaction: writers wait for each.
const DELETED_AT_ONCE: usize = 200;

impl Index {
    /// Every source that has a document or a record of a synchronisation, in the order of their names.
    pub fn sources(&self) -> Vec<SourceDescription> {
        let mut names = self.view.read().source_names();
        names.extend(self.syncs.read().sources().map(str::to_owned));
        names.iter().map(|name| self.source(name)).collect()
    }

    /// A source. One that is not known has nothing.
    pub fn source(&self, name: &str) -> SourceDescription {
        let IndexSize { documents, chunks, text_bytes } = self.view.read().source_size(name);
        let sync = self.syncs.read().latest(name).cloned();
        SourceDescription { name: name.to_owned(), documents, chunks, bytes: text_bytes, sync }
    }

    /// The owners of sources that are to be deleted when these are gone.
    pub fn owners(&self) -> Vec<OwnedSources> {
        let syncs = self.syncs.read();
        let owners: BTreeSet<&SourceOwner> = syncs.owners().filter(|owner| owner.when_gone.is_delete()).collect();
        let owned = |owner: &SourceOwner| OwnedSources {
            index: self.name().to_owned(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            scope: owner.scope.clone(),
        };
        owners.into_iter().map(owned).collect()
    }

    /// How many sources are being synchronised.
    pub fn running_syncs(&self, now: Instant) -> usize {
        self.syncs.read().running(now)
    }

    /// Takes what whoever synchronises a source says about it. It waits for other writers and may write: run it apart.
    ///
    /// What runs is kept in memory only, but for whose the source is. What has ended is on disk when this returns, when it differs from what
    /// ended before in more than its name and its times: a synchronisation that found nothing new writes nothing.
    ///
    /// # Errors
    ///
    /// [`IndexError::SourceHeld`] while another synchronisation has the source, or what the disk says.
    pub fn put_sync(&self, source: &str, put: PutSourceSync, now: &Moment) -> Result<SourceDescription, IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        let step = self.syncs.read().step(source, put, now)?;
        if step.is_to_be_saved() {
            self.store.write(|transaction| transaction.put_sync(source, step.saved()))?;
        }
        self.was_acknowledged();
        self.tell(source, &step);
        self.syncs.write().take(source, step);
        Ok(self.source(source))
    }

    /// Deletes a source's documents, a bounded number at a time, then what is known of its synchronisations. Returns how many
    /// documents there were. It waits for the disk: run it apart.
    ///
    /// # Errors
    ///
    /// What the disk says, or [`IndexError::NotShown`]. What was deleted until then stays deleted.
    pub fn delete_source(self: &Arc<Self>, source: &str) -> Result<u64, IndexError> {
        // First: what is on disk and not in the view has to be deleted, too.
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

    /// Those that are of another source by now stay.
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

    fn tell(&self, source: &str, step: &Step) {
        let SourceSync { sync_id, phase, done, total, held_back, error_count, .. } = step.latest();
        let (index, sync_id) = (self.name(), texts::id(sync_id));
        match step.news() {
            News::Begins => info!(index, source, sync_id, "sync begins"),
            News::GoesOn => {}
            News::Ends { elapsed } => {
                let outcome = match phase {
                    SyncPhase::Failed => "failed",
                    SyncPhase::Running | SyncPhase::Complete => "complete",
                };
                let (errors, elapsed_s) = (error_count, elapsed.as_secs_f64());
                info!(index, source, sync_id, outcome, done, total, errors, held_back, elapsed_s, "sync ended");
            }
        }
    }
}

#[cfg(test)]
mod tests;

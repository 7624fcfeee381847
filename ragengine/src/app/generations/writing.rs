//! Writes to an index that may be replaced by its next generation, or deleted, while the write runs.

use ragengine_engine::{Catalog, Index, Making};
use ragengine_errors::Logged as _;
use ragengine_index::IndexError;
use ragengine_index::record::IndexRecord;
use ragengine_index::writer::{Incoming, Mode, WriteOutcome};
use tokio::runtime::Handle;
use tracing::warn;

use super::Generations;
use crate::access::{Action, Caller, may};
use crate::error::ApiError;

/// Most attempts of a write whose index was replaced or deleted while it ran.
const ATTEMPTS: u32 = 3;

impl Generations {
    /// Runs work on an index, and again if another generation replaced the index while the work ran.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the caller may not, there is no such index, or the work fails.
    pub async fn with<T, F>(&self, caller: &Caller, name: &str, work: impl Fn(Index) -> F) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, IndexError>>,
    {
        may(caller, Action::Write, Some(name))?;
        Ok(self.retried(name, work).await?)
    }

    async fn retried<T, F>(&self, name: &str, work: impl Fn(Index) -> F) -> Result<T, IndexError>
    where
        F: Future<Output = Result<T, IndexError>>,
    {
        for _ in 1..ATTEMPTS {
            match work(self.catalog.get(name).await?).await {
                Err(IndexError::Superseded(_)) => {}
                done => return done,
            }
        }
        work(self.catalog.get(name).await?).await
    }

    /// Writes documents to an index.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the caller may not, there is no such index, or the documents cannot be written.
    pub async fn write(
        &self,
        caller: &Caller,
        name: &str,
        documents: &[Incoming],
        mode: Mode,
    ) -> Result<Vec<WriteOutcome>, ApiError> {
        may(caller, Action::Write, Some(name))?;
        Ok(self.written(name, documents, mode).await?)
    }

    async fn written(&self, name: &str, documents: &[Incoming], mode: Mode) -> Result<Vec<WriteOutcome>, IndexError> {
        let write = |index: Index| {
            let documents = documents.to_vec();
            async move { index.write(documents, mode, &self.embedding_of(&index)?).await }
        };
        self.retried(name, write).await
    }

    /// Adds documents to an index. Creates the index with this record if it does not exist.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the caller may not, or the documents cannot be added.
    pub async fn add(
        &self,
        caller: &Caller,
        name: &str,
        record: &IndexRecord,
        documents: &[Incoming],
    ) -> Result<(), ApiError> {
        may(caller, Action::Write, Some(name))?;
        for _ in 1..ATTEMPTS {
            match add_to(self, name, record, documents).await {
                // Another request created it, failed to add documents and deleted it. The next attempt creates it
                // again.
                Err(IndexError::NoSuchIndex(_)) => {}
                done => return Ok(done?),
            }
        }
        Ok(add_to(self, name, record, documents).await?)
    }
}

/// Writes documents to an index. Creates the index if it does not exist, and deletes a new index again if the write
/// fails.
async fn add_to(
    generations: &Generations,
    name: &str,
    record: &IndexRecord,
    writes: &[Incoming],
) -> Result<(), IndexError> {
    let catalog = &generations.catalog;
    let (index, is_new) = catalog.get_or_create(name, record.clone(), Making::ForDocuments).await?;
    let mut new = NewIndex { catalog, index: is_new.then_some(index) };
    let written = generations.written(name, writes, Mode::Upsert).await;
    // Taken in either case, so that the drop does not delete an index with documents.
    let new = new.index.take();
    if let (Err(_), Some(index)) = (&written, new) {
        catalog.delete_if_unused(&index).await?;
    }
    written.map(drop)
}

/// A new index whose documents are being written. Dropping it, when the client disconnects, deletes the index.
struct NewIndex<'a> {
    catalog: &'a Catalog,
    index: Option<Index>,
}

impl Drop for NewIndex<'_> {
    fn drop(&mut self) {
        let (Some(index), Ok(runtime)) = (self.index.take(), Handle::try_current()) else { return };
        let catalog = self.catalog.clone();
        runtime.spawn(async move {
            if let Err(error) = catalog.delete_if_unused(&index).await {
                warn!(
                    index = index.name(),
                    error = error.for_log(),
                    "an empty index remains after its client disconnected"
                );
            }
        });
    }
}

//! Writing to an index while it may be replaced by its next generation, or deleted as one that was made for nothing.

use std::sync::Arc;

use ragengine_compute::blocking;
use ragengine_errors::Logged as _;
use ragengine_index::catalog::Catalog;
use ragengine_index::record::IndexRecord;
use ragengine_index::writer::{Fate, Incoming, Mode};
use ragengine_index::{Index, IndexError};
use tokio::runtime::Handle;
use tracing::warn;

use super::Generations;

/// How often a write is done again because another generation took over meanwhile, or its index was deleted under it.
const ATTEMPTS: u32 = 3;

impl Generations {
    /// Does something with the index of this name, and again when another generation has taken over meanwhile.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or what the work says.
    pub async fn with<T, F>(&self, name: &str, work: impl Fn(Arc<Index>) -> F) -> Result<T, IndexError>
    where
        F: Future<Output = Result<T, IndexError>>,
    {
        for _ in 1..ATTEMPTS {
            match work(self.catalog.get(name)?).await {
                Err(IndexError::Superseded(_)) => {}
                done => return done,
            }
        }
        work(self.catalog.get(name)?).await
    }

    /// Writes documents to an index.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`], or why they cannot be written.
    pub async fn write(&self, name: &str, documents: &[Incoming], mode: Mode) -> Result<Vec<Fate>, IndexError> {
        let write = |index: Arc<Index>| {
            let documents = documents.to_vec();
            async move { index.write(documents, mode, &self.embedding_of(&index)?).await }
        };
        self.with(name, write).await
    }

    /// Adds documents to an index, which is made by this record when it is not there.
    ///
    /// # Errors
    ///
    /// Why they cannot be added.
    pub async fn add(&self, name: &str, record: &IndexRecord, documents: &[Incoming]) -> Result<(), IndexError> {
        for _ in 1..ATTEMPTS {
            match add_to(self, name, record, documents).await {
                // It was made for documents of another request that could not be added, and deleted again: it is made anew.
                Err(IndexError::NoSuchIndex(_)) => {}
                done => return done,
            }
        }
        add_to(self, name, record, documents).await
    }
}

/// Writes documents to an index, which is made when it is not there. One that was made and got nothing is deleted again.
async fn add_to(
    generations: &Generations,
    name: &str,
    record: &IndexRecord,
    writes: &[Incoming],
) -> Result<(), IndexError> {
    let (catalog, made, record) = (Arc::clone(&generations.catalog), name.to_owned(), record.clone());
    let (index, is_new) = blocking::run(move || catalog.get_or_create(&made, || record)).await?;
    let mut new = NewIndex { catalog: &generations.catalog, index: is_new.then_some(index) };
    let written = generations.write(name, writes, Mode::Upsert).await;
    // Taken in either case: what has documents stays.
    let new = new.index.take();
    if let (Err(_), Some(index)) = (&written, new) {
        let catalog = Arc::clone(&generations.catalog);
        blocking::run(move || catalog.delete_if_unused(&index)).await?;
    }
    written.map(drop)
}

/// An index that was made for documents, until they are in it. Where their sender leaves meanwhile, it goes again.
struct NewIndex<'a> {
    catalog: &'a Arc<Catalog>,
    index: Option<Arc<Index>>,
}

impl Drop for NewIndex<'_> {
    fn drop(&mut self) {
        let (Some(index), Ok(runtime)) = (self.index.take(), Handle::try_current()) else { return };
        let catalog = Arc::clone(self.catalog);
        runtime.spawn_blocking(move || {
            if let Err(error) = catalog.delete_if_unused(&index) {
                warn!(
                    index = index.name(),
                    error = error.for_log(),
                    "an empty index is left of documents whose sender has left"
                );
            }
        });
    }
}

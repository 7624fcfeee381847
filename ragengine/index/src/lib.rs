//! An index: documents, chunks, vectors, sources, filters and search. Another search engine would replace this crate.
//!
//! The store on disk is the source of truth. The state in memory (`view`) is rebuilt from it when the index is opened,
//! without computing embeddings. Parts that take long to build are saved beside it (`snapshot`).

pub mod archive;
mod background;
pub mod builder;
pub mod catalog;
pub mod chunking;
mod commit;
mod described;
mod document_name;
mod error;
mod fault;
pub mod filter;
mod full_text;
pub mod generation;
mod lifecycle;
pub mod listing;
pub mod metrics;
pub mod name;
pub mod persisted;
mod presence;
pub mod private;
mod rebuild;
pub mod record;
mod recovery;
pub mod room;
pub mod search;
mod showing;
mod snapshot;
pub mod sources;
mod store;
mod token_counts;
pub mod transfer;
mod turns;
mod vectors;
mod view;
pub mod whole_document;
pub mod writer;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use described::IndexSize;
pub use error::IndexError;
pub use full_text::{Analyzer, NamedText, QueryWord, TextKind};
use parking_lot::RwLock;
use ragengine_settings::{EmbeddingSource, TextLanguage, VectorIndexKind};
pub use recovery::Step;
pub use store::StoreError;
use uuid::Uuid;

use self::background::Background;
use self::full_text::FullText;
use self::lifecycle::{Lifecycle, Stage};
use self::record::IndexRecord;
use self::recovery::Opening;
use self::search::{BackgroundDistances, FilterCache};
use self::sources::Syncs;
use self::store::{Reader, Store};
use self::view::View;
use self::writes::Writes;
use crate::metrics::IndexMetrics;

/// Search settings, the same for all indexes.
#[derive(Debug, Clone, Copy)]
pub struct SearchSettings {
    /// Indexes with fewer chunks are searched exactly.
    pub exact_below_rows: usize,
    /// The `efSearch` of graph searches: the number of candidates that a search keeps.
    pub ef_search: usize,
    /// The number of IVF lists that a search compares. None: chosen automatically.
    pub n_probe: Option<usize>,
    /// The language of full-text search.
    pub language: TextLanguage,
}

/// One index.
///
/// Readers hold the view's lock only to copy a few pointers to what they search and read. Writers hold it only to show
/// what is already durable.
pub struct Index {
    name: String,
    record: IndexRecord,
    directory: PathBuf,
    store: Store,
    view: RwLock<View>,
    full_text: FullText,
    syncs: RwLock<Syncs>,
    search: SearchSettings,
    filters: FilterCache,
    background_distances: BackgroundDistances,
    metrics: Arc<IndexMetrics>,
    lifecycle: Lifecycle,
    writes: Writes,
    background: Background,
}

/// The folder of an index, and how it is searched and measured.
struct Place<'a> {
    name: &'a str,
    directory: &'a Path,
    search: SearchSettings,
    metrics: &'a Arc<IndexMetrics>,
}

impl Index {
    /// Creates an empty index in `directory`, which must not exist.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn create(
        name: &str,
        directory: &Path,
        record: IndexRecord,
        search: SearchSettings,
        metrics: &Arc<IndexMetrics>,
    ) -> Result<Arc<Self>, IndexError> {
        let store = Store::create(directory, &record)?;
        Self::with_store(Place { name, directory, search, metrics }, record, store, &mut |_| {})
    }

    /// Opens the index in `directory` and loads its vectors. Reports each step to `progress`.
    ///
    /// # Errors
    ///
    /// If its files cannot be read, or another process has it open.
    pub fn open(
        name: &str,
        directory: &Path,
        search: SearchSettings,
        metrics: &Arc<IndexMetrics>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Arc<Self>, IndexError> {
        let (store, record) = Store::open(directory)?;
        Self::with_store(Place { name, directory, search, metrics }, record, store, progress)
    }

    fn with_store(
        place: Place<'_>,
        record: IndexRecord,
        store: Store,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Arc<Self>, IndexError> {
        let Place { name, directory, search, metrics } = place;
        let reader = Arc::new(store.reader()?);
        let syncs = Syncs::saved(reader.syncs()?);
        let full_text = FullText::new(search.language);
        let opening = Opening { name, directory, record: &record, search, metrics, store: store.id() };
        let (view, kept) = opening.recover(&reader, &full_text, progress)?;
        Ok(Arc::new(Self {
            name: name.to_owned(),
            record,
            directory: directory.to_owned(),
            store,
            view: RwLock::new(view),
            full_text,
            syncs: RwLock::new(syncs),
            search,
            filters: FilterCache::default(),
            background_distances: BackgroundDistances::default(),
            metrics: Arc::clone(metrics),
            lifecycle: Lifecycle::default(),
            writes: Writes::default(),
            background: Background::with_kept(kept),
        }))
    }

    /// The name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings with which the index was made.
    pub fn record(&self) -> &IndexRecord {
        &self.record
    }

    /// Whether the disk refused an operation. The index must then be reopened.
    pub fn has_failed(&self) -> bool {
        self.store.has_failed()
    }

    /// The current size.
    pub fn size(&self) -> IndexSize {
        self.view.read().size()
    }

    /// The id of the index's store, and the number of transactions that changed documents in it. As long as both stay,
    /// so do the documents. The id is a new one after a load, a restore or a rebuild.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn version(&self) -> Result<(Uuid, u64), IndexError> {
        Ok((self.store.id(), self.view.read().reader().changes()?))
    }

    /// The id of a chunk in the API, see [`node_id`].
    pub fn node_id(&self, doc_id: &str, ordinal: u32, chunk_hash: &[u8; 32]) -> String {
        node_id(&self.name, doc_id, ordinal, chunk_hash)
    }

    /// The settings of the embedding model that made the vectors. None if an old version made the index without saving
    /// them.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn embedding_source(&self) -> Result<Option<EmbeddingSource>, IndexError> {
        Ok(self.reader().embedding_source()?)
    }

    /// Saves the settings of the embedding model, unless they are saved already.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn keep_embedding_source(&self, source: &EmbeddingSource) -> Result<(), IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        if self.store.reader()?.embedding_source()?.as_ref() == Some(source) {
            return Ok(());
        }
        self.store.write(|transaction| transaction.put_embedding_source(source))?;
        self.show(Vec::new())
    }

    /// A reader of the visible state, which later writes do not change.
    fn reader(&self) -> Arc<Reader> {
        Arc::clone(self.view.read().reader())
    }

    /// A reader of the visible state that includes every acknowledged write. Writers compare with it.
    ///
    /// # Errors
    ///
    /// As [`Self::bring_up_to_date`].
    fn latest_reader(&self) -> Result<Arc<Reader>, IndexError> {
        self.bring_up_to_date()?;
        Ok(self.reader())
    }

    /// Shows changes that are durable but could not be shown. Called before comparing documents with the view: compared
    /// with a stale view, a changed document could look unchanged, or an existing one missing. May wait for writers.
    ///
    /// # Errors
    ///
    /// [`IndexError::NotShown`] if the changes still cannot be shown, or an error if the index is gone.
    fn bring_up_to_date(&self) -> Result<(), IndexError> {
        if !self.has_unshown() {
            return Ok(());
        }
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        self.require_shown()
    }

    fn kind(&self) -> VectorIndexKind {
        self.record.vector_index
    }

    /// Marks the index as deleted. Running writers then fail instead of writing to a folder that is being removed.
    fn mark_deleted(&self) {
        let _writing = self.writes.lock.lock();
        self.lifecycle.delete();
    }

    /// Marks the index as deleted if it is empty and no client knows of it. Returns whether it was marked.
    fn close_if_unused(&self) -> bool {
        let _writing = self.writes.lock.lock();
        self.size().documents == 0 && self.lifecycle.delete_if_unacknowledged()
    }

    /// Reverts the mark after a failed deletion.
    fn reopen(&self) {
        self.lifecycle.restore();
    }

    /// Marks the index as replaced. Running writers then retry in its successor.
    fn mark_superseded(&self) {
        let _writing = self.writes.lock.lock();
        self.lifecycle.supersede();
    }

    fn require_present(&self) -> Result<(), IndexError> {
        match self.lifecycle.stage() {
            Stage::Deleted => Err(IndexError::NoSuchIndex(self.name.clone())),
            Stage::Superseded => Err(IndexError::Superseded(self.name.clone())),
            Stage::Unacknowledged | Stage::Acknowledged => Ok(()),
        }
    }
}

/// The id of a chunk in the API. It is stable: the same text at the same place of the same document of an index has the
/// same id.
pub fn node_id(index: &str, doc_id: &str, ordinal: u32, chunk_hash: &[u8; 32]) -> String {
    let name = [index.as_bytes(), doc_id.as_bytes(), &ordinal.to_le_bytes(), chunk_hash].join(&0_u8);
    Uuid::new_v5(&Uuid::NAMESPACE_OID, &name).to_string()
}

#[cfg(test)]
mod tests;

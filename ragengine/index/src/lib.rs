//! An index: documents, their chunks and vectors, sources, filters, search. It is the seam to another engine.
//!
//! The store on disk is the source of truth. Everything in memory (`view`) is derived from it when the index is opened, without
//! embedding again; what takes long to derive is kept beside it (`snapshot`).

pub mod archive;
mod background;
pub mod builder;
pub mod catalog;
pub mod chunking;
mod commit;
mod described;
mod error;
mod fault;
pub mod filter;
pub mod generation;
mod lifecycle;
pub mod listing;
pub mod metrics;
pub mod name;
pub mod persisted;
pub mod private;
mod rebuild;
pub mod record;
mod recovery;
pub mod room;
pub mod search;
mod showing;
pub mod snapshot;
pub mod sources;
pub mod store;
mod token_counts;
mod transfer;
mod turns;
mod vectors;
mod view;
pub mod writer;
mod writes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use described::IndexSize;
pub use error::IndexError;
use parking_lot::RwLock;
use ragengine_settings::{EmbeddingSource, VectorIndexKind};
pub use recovery::Step;
use uuid::Uuid;

use self::background::Background;
use self::lifecycle::{Lifecycle, Stage};
use self::record::IndexRecord;
use self::recovery::Opening;
use self::sources::Syncs;
use self::store::{Reader, Store};
use self::view::View;
use self::writes::Writes;
use crate::metrics::IndexMetrics;

/// How indexes are searched and when their graphs are built: the same for all of them.
#[derive(Debug, Clone, Copy)]
pub struct SearchSettings {
    /// Below this many chunks a search is exact.
    pub exact_below_rows: usize,
    /// Nodes of a graph that a search keeps in view.
    pub ef_search: usize,
    /// Lists that a search compares. None: as many as it takes.
    pub n_probe: Option<usize>,
}

/// One index.
///
/// Readers take the view's lock only to copy what they search and read: a few pointers. Writers take it to show what is on disk
/// already.
pub struct Index {
    name: String,
    record: IndexRecord,
    directory: PathBuf,
    store: Store,
    view: RwLock<View>,
    syncs: RwLock<Syncs>,
    search: SearchSettings,
    metrics: Arc<IndexMetrics>,
    lifecycle: Lifecycle,
    writes: Writes,
    background: Background,
}

/// Where an index is, and how it is searched and measured.
struct Place<'a> {
    name: &'a str,
    directory: &'a Path,
    search: SearchSettings,
    metrics: &'a Arc<IndexMetrics>,
}

impl Index {
    /// Makes an empty index in `directory`, which must not exist yet.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
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

    /// Opens the index in `directory` and loads its vectors, and tells `progress` what it does.
    ///
    /// # Errors
    ///
    /// When its files cannot be read, or another process has it open.
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
        let opening = Opening { name, directory, record: &record, search, metrics, store: store.id() };
        let (view, kept) = opening.recover(&reader, progress)?;
        Ok(Arc::new(Self {
            name: name.to_owned(),
            record,
            directory: directory.to_owned(),
            store,
            view: RwLock::new(view),
            syncs: RwLock::new(syncs),
            search,
            metrics: Arc::clone(metrics),
            lifecycle: Lifecycle::default(),
            writes: Writes::default(),
            background: Background::with_kept(kept),
        }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it was made.
    pub fn record(&self) -> &IndexRecord {
        &self.record
    }

    /// Whether the disk refused to read or write something, so that it has to be opened anew.
    pub fn has_failed(&self) -> bool {
        self.store.has_failed()
    }

    /// Its sizes at this moment.
    pub fn size(&self) -> IndexSize {
        self.view.read().size()
    }

    /// The id of a chunk, as the API shows it: the same for the same text at the same place of the same document.
    pub fn node_id(&self, doc_id: &str, ordinal: u32, chunk_hash: &[u8; 32]) -> String {
        let name = [self.name.as_bytes(), doc_id.as_bytes(), &ordinal.to_le_bytes(), chunk_hash].join(&0_u8);
        Uuid::new_v5(&Uuid::NAMESPACE_OID, &name).to_string()
    }

    /// The settings of the model that made its vectors. None: it is of a version that did not keep them.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn embedding_source(&self) -> Result<Option<EmbeddingSource>, IndexError> {
        Ok(self.reader().embedding_source()?)
    }

    /// Keeps the settings of the model that made its vectors, unless they are there already.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn keep_embedding_source(&self, source: &EmbeddingSource) -> Result<(), IndexError> {
        let _writing = self.writes.lock.lock();
        self.require_present()?;
        if self.store.reader()?.embedding_source()?.as_ref() == Some(source) {
            return Ok(());
        }
        self.store.write(|transaction| transaction.put_embedding_source(source))?;
        self.show(Vec::new())
    }

    /// The store as it is now, for a reader that must not see later writes.
    fn reader(&self) -> Arc<Reader> {
        Arc::clone(self.view.read().reader())
    }

    /// The store with all that was answered, for whoever writes what differs from it.
    ///
    /// # Errors
    ///
    /// As [`Self::bring_up_to_date`].
    fn latest_reader(&self) -> Result<Arc<Reader>, IndexError> {
        self.bring_up_to_date()?;
        Ok(self.reader())
    }

    /// Shows what is on disk and could not be shown: compared with a view that lacks it, a document would be the same that is not, or not be
    /// there. To be called before whatever decides from the view what is written. It may wait for writers.
    ///
    /// # Errors
    ///
    /// [`IndexError::NotShown`] when it still cannot be shown, or that the index is gone.
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

    /// Marks it as gone: writers that are under way fail instead of writing into a folder that is being removed.
    fn mark_deleted(&self) {
        let _writing = self.writes.lock.lock();
        self.lifecycle.delete();
    }

    /// Marks it as gone when nobody was told of it and it has no document. Returns whether that is so.
    fn close_if_unused(&self) -> bool {
        let _writing = self.writes.lock.lock();
        self.size().documents == 0 && self.lifecycle.delete_if_unknown()
    }

    /// Takes back that it is gone: it could not be deleted.
    fn reopen(&self) {
        self.lifecycle.restore();
    }

    /// Marks it as replaced: writers that are under way are sent to the index that has its name now.
    fn mark_superseded(&self) {
        let _writing = self.writes.lock.lock();
        self.lifecycle.supersede();
    }

    fn require_present(&self) -> Result<(), IndexError> {
        match self.lifecycle.stage() {
            Stage::Deleted => Err(IndexError::NoSuchIndex(self.name.clone())),
            Stage::Superseded => Err(IndexError::Superseded(self.name.clone())),
            Stage::Unknown | Stage::Known => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

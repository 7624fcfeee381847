//! An index: documents, their chunks and vectors, sources, filters, search. It is the seam to another engine.
//!
//! The store on disk is the source of truth. Everything in memory (`view`) is derived from it when the index is opened, without
//! embedding again; what takes long to derive is kept beside it (`snapshot`).

pub mod archive;
pub mod catalog;
pub mod chunking;
mod commit;
mod error;
pub mod filter;
pub mod generation;
pub mod listing;
pub mod name;
pub mod persisted;
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

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

pub use error::IndexError;
use parking_lot::{Mutex, RwLock};
use ragengine_client::wire::IndexDescription;
use ragengine_settings::{EmbeddingSource, VectorIndexKind};
pub use recovery::Step;
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

use self::record::IndexRecord;
use self::recovery::Opening;
use self::sources::Syncs;
use self::store::{Reader, Store};
use self::vectors::Segment;
use self::view::{Changed, View};
use crate::embedding::Embedding;
use crate::metrics::Metrics;

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
    /// Held from the start of a transaction until the view shows it, so that the two never differ in order.
    writing: Mutex<()>,
    waiting: commit::Queue,
    /// Changes that are on disk and could not be shown. Taken after `writing`.
    unshown: Mutex<Vec<Changed>>,
    /// Writers that may wait at once, each of which has a thread.
    write_turns: Arc<Semaphore>,
    /// The segment that the snapshot on disk is of.
    kept: Mutex<Weak<Segment>>,
    metrics: Arc<Metrics>,
    is_deleted: AtomicBool,
    /// Somebody was told that it is there, or has something, since it was made or opened.
    is_acknowledged: AtomicBool,
    /// A later generation has its name.
    is_superseded: AtomicBool,
    /// Writers that have prepared their documents wait, a bounded time: the next generation catches up.
    is_catching_up: watch::Sender<bool>,
    is_rebuilding: AtomicBool,
    is_keeping_counts: AtomicBool,
    /// The server stops: no rebuild is begun, and none goes on.
    is_at_rest: AtomicBool,
}

/// Sizes of an index, or of one of its sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexSize {
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Bytes of the documents' texts.
    pub text_bytes: u64,
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
        metrics: &Arc<Metrics>,
    ) -> Result<Arc<Self>, IndexError> {
        let store = Store::create(directory, &record)?;
        Self::with_store(name, directory, record, store, search, metrics, &mut |_| {})
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
        metrics: &Arc<Metrics>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Arc<Self>, IndexError> {
        let (store, record) = Store::open(directory)?;
        Self::with_store(name, directory, record, store, search, metrics, progress)
    }

    fn with_store(
        name: &str,
        directory: &Path,
        record: IndexRecord,
        store: Store,
        search: SearchSettings,
        metrics: &Arc<Metrics>,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Arc<Self>, IndexError> {
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
            writing: Mutex::new(()),
            waiting: commit::Queue::default(),
            unshown: Mutex::default(),
            write_turns: turns::of_one_index(),
            kept: Mutex::new(kept),
            metrics: Arc::clone(metrics),
            is_deleted: AtomicBool::new(false),
            is_acknowledged: AtomicBool::new(false),
            is_superseded: AtomicBool::new(false),
            is_catching_up: watch::Sender::new(false),
            is_rebuilding: AtomicBool::new(false),
            is_keeping_counts: AtomicBool::new(false),
            is_at_rest: AtomicBool::new(false),
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

    /// The index as the API describes it.
    pub fn describe(&self, data_id: &str) -> IndexDescription {
        let size = self.size();
        let (graph_chunks, vector_index) = {
            let view = self.view.read();
            (view.vectors().built() as u64, view.vectors().largest_kind().to_string())
        };
        IndexDescription {
            name: self.name.clone(),
            documents: size.documents,
            chunks: size.chunks,
            bytes: size.text_bytes,
            graph_chunks,
            vector_index,
            settings: self.record.settings(),
            fingerprint: self.record.fingerprint(),
            model: self.record.model.clone(),
            data_id: data_id.to_owned(),
            next_generation: None,
        }
    }

    /// Refuses to let vectors of different models meet.
    ///
    /// # Errors
    ///
    /// [`IndexError::OtherModel`] when the index was made with another model than the one in use.
    pub fn require_model(&self, embedding: &Embedding) -> Result<(), IndexError> {
        let record = &self.record;
        if record.embedding_fingerprint == embedding.fingerprint() && record.dimensions == embedding.dimensions() {
            return Ok(());
        }
        let shown = |model: &str, dimensions: usize| format!("{model} ({dimensions} dimensions)");
        Err(IndexError::OtherModel {
            index: self.name.clone(),
            made_with: shown(&record.model, record.dimensions),
            in_use: shown(embedding.model_id(), embedding.dimensions()),
        })
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
        let _writing = self.writing.lock();
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
        let _writing = self.writing.lock();
        self.require_present()?;
        self.require_shown()
    }

    fn kind(&self) -> VectorIndexKind {
        self.record.vector_index
    }

    /// Marks it as gone: writers that are under way fail instead of writing into a folder that is being removed.
    fn mark_deleted(&self) {
        let _writing = self.writing.lock();
        self.is_deleted.store(true, Ordering::Release);
    }

    /// Marks it as gone when nobody was told of it and it has no document. Returns whether that is so.
    fn close_if_unused(&self) -> bool {
        let _writing = self.writing.lock();
        let is_empty = self.size().documents == 0 && !self.is_acknowledged.load(Ordering::Acquire);
        self.is_deleted.fetch_or(is_empty, Ordering::AcqRel);
        is_empty
    }

    /// Takes back that it is gone: it could not be deleted.
    fn reopen(&self) {
        self.is_deleted.store(false, Ordering::Release);
    }

    /// Marks it as replaced: writers that are under way are sent to the index that has its name now.
    fn mark_superseded(&self) {
        let _writing = self.writing.lock();
        self.is_superseded.store(true, Ordering::Release);
    }

    fn require_present(&self) -> Result<(), IndexError> {
        match (self.is_deleted.load(Ordering::Acquire), self.is_superseded.load(Ordering::Acquire)) {
            (true, _) => Err(IndexError::NoSuchIndex(self.name.clone())),
            (false, true) => Err(IndexError::Superseded(self.name.clone())),
            (false, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use parking_lot::RwLock;
use ragengine_client::wire::{IndexDescription, OwnedSources};
use ragengine_index::record::IndexRecord;
use ragengine_index::search::BackgroundDistances;
use ragengine_index::sources::{Syncs, owned_sources};
use ragengine_index::{Analyzer, IndexError, IndexSize};
use ragengine_pipeline::filter::Filter;
use ragengine_settings::{EmbeddingSource, VectorIndexKind};
use ragengine_stores::{CatalogueIndex, IndexCatalogue};
use ragengine_vector_database::{Index as Engine, Selection};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::cursors::Cursors;
use super::fault::{of_catalogue, of_engine};

/// An index in the vector database. Nothing here is needed by another server: it is what was read, and what can be
/// computed again.
pub struct ExternalIndex {
    pub(super) name: String,
    /// The number in the catalogue. An index that is made again has another one.
    pub(super) number: i64,
    pub(super) store_id: Uuid,
    pub(super) record: IndexRecord,
    pub(super) embedding: Option<EmbeddingSource>,
    pub(super) engine: Engine,
    pub(super) catalogue: Arc<IndexCatalogue>,
    pub(super) analyzer: Analyzer,
    pub(super) background: BackgroundDistances,
    /// Held by a writer of this server, so that the documents of a request are compared with what others have written.
    pub(super) writing: Arc<Mutex<()>>,
    /// Whether a change is left open, because a replica is behind that misses it.
    pub(super) is_left_open: AtomicBool,
    pub(super) cursors: Cursors,
    pub(super) seen: RwLock<Seen>,
}

/// What was there some seconds ago, for metrics and the status.
#[derive(Default)]
pub(super) struct Seen {
    pub size: IndexSize,
    pub syncs: Syncs,
}

impl ExternalIndex {
    /// The name of the index.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings with which the index was made.
    pub fn record(&self) -> &IndexRecord {
        &self.record
    }

    /// The settings of the embedding model that made the vectors.
    pub fn embedding_source(&self) -> Option<&EmbeddingSource> {
        self.embedding.as_ref()
    }

    /// The size some seconds ago.
    pub fn seen_size(&self) -> IndexSize {
        self.seen.read().size
    }

    /// The owners some seconds ago.
    pub fn seen_owners(&self) -> Vec<OwnedSources> {
        owned_sources(&self.name, &self.seen.read().syncs)
    }

    /// How many sources were being synchronised some seconds ago.
    pub fn seen_running_syncs(&self, now: Instant) -> usize {
        self.seen.read().syncs.running(now)
    }

    /// The size.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn size(&self) -> Result<IndexSize, IndexError> {
        let everything = Filter::default();
        self.size_of(Selection::Filter(&everything)).await
    }

    pub(super) async fn size_of(&self, selection: Selection<'_>) -> Result<IndexSize, IndexError> {
        self.engine.size(selection).await.map(size_of).map_err(of_engine)
    }

    /// The id of the store, and the number of the latest change. None while it is being changed.
    ///
    /// # Errors
    ///
    /// [`IndexError::NoSuchIndex`] if it was deleted, [`IndexError::Superseded`] if it was replaced, or if the database
    /// fails.
    pub async fn version(&self) -> Result<Option<(Uuid, u64)>, IndexError> {
        let row = self.row().await?;
        if self.engine.may_be_behind() {
            return Ok(None);
        }
        Ok((!row.is_changing).then_some((self.store_id, row.changes.unsigned_abs())))
    }

    /// What the catalogue has of it now.
    pub(super) async fn row(&self) -> Result<CatalogueIndex, IndexError> {
        match self.catalogue.get(&self.name).await.map_err(of_catalogue)? {
            Some(row) if self.is_of(&row) => Ok(row),
            Some(_) => Err(IndexError::Superseded(self.name.clone())),
            None => Err(self.gone()),
        }
    }

    /// Why the catalogue does not have it: it was deleted or replaced.
    pub(super) async fn absence(&self) -> IndexError {
        self.row().await.err().unwrap_or_else(|| self.gone())
    }

    /// Whether a row is this index. Numbers come again when the database is restored.
    pub(super) fn is_of(&self, row: &CatalogueIndex) -> bool {
        row.number == self.number && row.store_id == self.store_id.to_string()
    }

    /// Whether another one is this index, opened by another request.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.number == other.number && self.store_id == other.store_id
    }

    /// The error of a request, or that the index is gone or another one by now.
    pub async fn explained(&self, error: IndexError) -> IndexError {
        let may_be_gone = matches!(&error, IndexError::Engine(error) if ["query", "refused"].contains(&error.kind()));
        if !may_be_gone {
            return error;
        }
        match self.row().await {
            Err(absence @ (IndexError::NoSuchIndex(_) | IndexError::Superseded(_))) => absence,
            _ => error,
        }
    }

    /// The index as the API describes it.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn describe(&self, data_id: &str) -> Result<IndexDescription, IndexError> {
        let size = self.size().await?;
        let kind = in_engine(self.record.vector_index);
        Ok(IndexDescription {
            name: self.name.clone(),
            documents: size.documents,
            chunks: size.chunks,
            bytes: size.text_bytes,
            graph_chunks: if kind == VectorIndexKind::Flat { 0 } else { size.chunks },
            vector_index: kind.to_string(),
            settings: self.record.settings(),
            fingerprint: self.record.fingerprint(),
            model: self.record.model.clone(),
            data_id: data_id.to_owned(),
            next_generation: None,
        })
    }

    fn gone(&self) -> IndexError {
        IndexError::NoSuchIndex(self.name.clone())
    }
}

pub(super) fn size_of(size: ragengine_vector_database::IndexSize) -> IndexSize {
    IndexSize { documents: size.documents, chunks: size.chunks, text_bytes: size.text_bytes }
}

/// What `auto` is: the databases' graphs take every number of chunks.
pub(super) fn in_engine(kind: VectorIndexKind) -> VectorIndexKind {
    match kind {
        VectorIndexKind::Auto => VectorIndexKind::Hnsw { m: 32 },
        other => other,
    }
}

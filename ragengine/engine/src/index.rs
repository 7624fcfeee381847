use std::sync::Arc;
use std::time::Instant;

use ragengine_client::wire::{
    DocumentList, IndexDescription, OwnedSources, PutSourceSync, SourceDescription, SourceDocuments, WholeDocument,
};
use ragengine_compute as compute;
use ragengine_embedding::Embedding;
use ragengine_index::listing::{Page, TextLength};
use ragengine_index::record::IndexRecord;
use ragengine_index::search::{Query, SearchPool};
use ragengine_index::sources::Moment;
use ragengine_index::writer::{Incoming, Mode, WriteOutcome};
use ragengine_index::{IndexError, IndexSize};
use ragengine_pipeline::filter::Filter;
use ragengine_pipeline::ranking::answerable::Evidence;
use ragengine_settings::EmbeddingSource;
use uuid::Uuid;

use crate::Candidates;
use crate::external::ExternalIndex;

/// An index. Cheap to clone.
#[derive(Clone)]
pub enum Index {
    /// With FAISS, in the server's data folder.
    Local(Arc<ragengine_index::Index>),
    /// In an external vector engine.
    External(Arc<ExternalIndex>),
}

/// Where a chunk was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkAt {
    /// The id of its document.
    pub doc_id: String,
    /// Its position in the document, from 0.
    pub ordinal: u32,
    /// Its id in the API.
    pub node_id: String,
}

fn all(chunks: &[ChunkAt], is_there: &impl Fn(&ChunkAt) -> Result<bool, IndexError>) -> Result<bool, IndexError> {
    for chunk in chunks {
        if !is_there(chunk)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The result of a request to an external index, whose error may be that the index is gone.
async fn or_gone<T>(index: &ExternalIndex, result: Result<T, IndexError>) -> Result<T, IndexError> {
    match result {
        Ok(done) => Ok(done),
        Err(error) => Err(index.explained(error).await),
    }
}

impl Index {
    /// The name of the index.
    pub fn name(&self) -> &str {
        match self {
            Self::Local(index) => index.name(),
            Self::External(index) => index.name(),
        }
    }

    /// The settings with which the index was made.
    pub fn record(&self) -> &IndexRecord {
        match self {
            Self::Local(index) => index.record(),
            Self::External(index) => index.record(),
        }
    }

    /// The index in the data folder, if it is one.
    pub fn local(&self) -> Option<&Arc<ragengine_index::Index>> {
        match self {
            Self::Local(index) => Some(index),
            Self::External(_) => None,
        }
    }

    /// The index in an external engine, if it is one.
    pub(crate) fn external(&self) -> Option<&Arc<ExternalIndex>> {
        match self {
            Self::Local(_) => None,
            Self::External(index) => Some(index),
        }
    }

    /// The size. That of an external index is some seconds old.
    pub fn size(&self) -> IndexSize {
        match self {
            Self::Local(index) => index.size(),
            Self::External(index) => index.seen_size(),
        }
    }

    /// The owners whose sources are to be deleted when the owner is gone. Those of an external index are some seconds
    /// old.
    pub fn owners(&self) -> Vec<OwnedSources> {
        match self {
            Self::Local(index) => index.owners(),
            Self::External(index) => index.seen_owners(),
        }
    }

    /// How many sources are being synchronised. For an external index, some seconds ago.
    pub fn running_syncs(&self, now: Instant) -> usize {
        match self {
            Self::Local(index) => index.running_syncs(now),
            Self::External(index) => index.seen_running_syncs(now),
        }
    }

    /// The settings of the embedding model that made the vectors. None if an old version made the index without saving
    /// them.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn embedding_source(&self) -> Result<Option<EmbeddingSource>, IndexError> {
        match self {
            Self::Local(index) => index.embedding_source(),
            Self::External(index) => Ok(index.embedding_source().cloned()),
        }
    }

    /// The id of the index's store, and a number that is larger after every change of a document. As long as both stay,
    /// so do the documents. None while an external index is being changed.
    ///
    /// # Errors
    ///
    /// If the disk or the database fails.
    pub async fn version(&self) -> Result<Option<(Uuid, u64)>, IndexError> {
        match self {
            Self::Local(index) => index.version().map(Some),
            Self::External(index) => index.version().await,
        }
    }

    /// Checks that no replica of an external index is known to be behind, whose lists would lack documents.
    ///
    /// # Errors
    ///
    /// An error that is temporary.
    pub async fn require_all_replicas(&self) -> Result<(), IndexError> {
        match self {
            Self::Local(_) => Ok(()),
            Self::External(index) => index.require_all_replicas().await,
        }
    }

    /// The index as the API describes it.
    ///
    /// # Errors
    ///
    /// If the engine fails.
    pub async fn describe(&self, data_id: &str) -> Result<IndexDescription, IndexError> {
        match self {
            Self::Local(index) => Ok(index.describe(data_id)),
            Self::External(index) => index.describe(data_id).await,
        }
    }

    /// Searches. At most as many local searches as the pool has threads run at a time.
    ///
    /// # Errors
    ///
    /// If a vector or a filter cannot be used, or the disk or the engine fails.
    pub async fn search(&self, pool: &SearchPool, query: Query) -> Result<Candidates, IndexError> {
        match self {
            Self::Local(index) => {
                let index = Arc::clone(index);
                pool.run(move || index.search(&query).map(Candidates::from)).await
            }
            Self::External(index) => or_gone(index, index.search(&query).await).await,
        }
    }

    /// What both searches tell about whether the index can answer a query. None if the index is small, it has no chunk
    /// that the filter allows, or words cannot be searched now.
    ///
    /// # Errors
    ///
    /// As [`Self::search`].
    pub async fn evidence(
        &self,
        pool: &SearchPool,
        query: Query,
        text: Arc<str>,
    ) -> Result<Option<Evidence>, IndexError> {
        match self {
            Self::Local(index) => {
                let index = Arc::clone(index);
                pool.run(move || index.evidence(&query, &text)).await
            }
            Self::External(index) => or_gone(index, index.evidence(&query, &text).await).await,
        }
    }

    /// Writes documents, whose ids must differ. When this returns, every later search finds them.
    ///
    /// # Errors
    ///
    /// If the model is not the index's, a text cannot be split or embedded, or the disk or the engine fails.
    pub async fn write(
        &self,
        incoming: Vec<Incoming>,
        mode: Mode,
        embedding: &Embedding,
    ) -> Result<Vec<WriteOutcome>, IndexError> {
        match self {
            Self::Local(index) => index.write(incoming, mode, embedding).await,
            Self::External(index) => or_gone(index, index.write(incoming, mode, embedding).await).await,
        }
    }

    /// Deletes documents. Returns for each id whether it existed.
    ///
    /// # Errors
    ///
    /// If the disk or the engine fails.
    pub async fn delete(&self, doc_ids: Arc<[String]>) -> Result<Vec<bool>, IndexError> {
        match self {
            Self::Local(index) => index.delete(doc_ids).await,
            Self::External(index) => or_gone(index, index.delete(&doc_ids).await).await,
        }
    }

    /// A page of the documents that match a filter, with the beginnings of their texts.
    ///
    /// # Errors
    ///
    /// If the disk or the engine fails.
    pub async fn list(&self, filter: Filter, page: Page, length: TextLength) -> Result<DocumentList, IndexError> {
        match self {
            Self::Local(index) => {
                let index = Arc::clone(index);
                compute::run_on_thread(move |_| index.list(&filter, &page, length)).await
            }
            Self::External(index) => or_gone(index, index.list(&filter, &page, length).await).await,
        }
    }

    /// A page of a source's documents, with their content hashes and revisions.
    ///
    /// # Errors
    ///
    /// If the disk or the engine fails.
    pub async fn list_source(&self, source: String, page: Page) -> Result<SourceDocuments, IndexError> {
        match self {
            Self::Local(index) => {
                let index = Arc::clone(index);
                compute::run_on_thread(move |_| index.list_source(&source, &page)).await
            }
            Self::External(index) => index.list_source(&source, &page).await,
        }
    }

    /// A document with its whole text. None if there is no such document.
    ///
    /// # Errors
    ///
    /// If the disk or the engine fails.
    pub async fn whole_document(&self, doc_id: String) -> Result<Option<WholeDocument>, IndexError> {
        match self {
            Self::Local(index) => {
                let index = Arc::clone(index);
                compute::run_on_thread(move |_| index.whole_document(&doc_id)).await
            }
            Self::External(index) => index.whole_document(&doc_id).await,
        }
    }

    /// For each list of chunks, whether their documents still have all of them, unchanged.
    ///
    /// # Errors
    ///
    /// If the disk or the engine fails.
    pub async fn have_chunks(&self, wanted: Vec<Vec<ChunkAt>>) -> Result<Vec<bool>, IndexError> {
        match self {
            Self::Local(index) => {
                let index = Arc::clone(index);
                let is_there = move |chunk: &ChunkAt| index.has_chunk(&chunk.doc_id, chunk.ordinal, &chunk.node_id);
                compute::run_on_thread(move |_| wanted.iter().map(|chunks| all(chunks, &is_there)).collect()).await
            }
            Self::External(index) => index.have_chunks(&wanted).await,
        }
    }

    /// All sources with documents or a synchronisation record, ordered by name.
    ///
    /// # Errors
    ///
    /// If the engine or the database fails.
    pub async fn sources(&self) -> Result<Vec<SourceDescription>, IndexError> {
        match self {
            Self::Local(index) => Ok(index.sources()),
            Self::External(index) => index.sources().await,
        }
    }

    /// Describes a source. An unknown source is empty.
    ///
    /// # Errors
    ///
    /// If the engine or the database fails.
    pub async fn source(&self, name: &str) -> Result<SourceDescription, IndexError> {
        match self {
            Self::Local(index) => Ok(index.source(name)),
            Self::External(index) => index.source(name).await,
        }
    }

    /// Records the state of a source's synchronisation.
    ///
    /// # Errors
    ///
    /// [`IndexError::SourceHeld`] while another synchronisation has the source, or if the disk or the database fails.
    pub async fn put_sync(&self, source: String, put: PutSourceSync) -> Result<SourceDescription, IndexError> {
        match self {
            Self::Local(index) => index.in_turn(move |index| index.put_sync(&source, put, &Moment::now())).await,
            Self::External(index) => index.put_sync(&source, put, &Moment::now()).await,
        }
    }

    /// Deletes a source's documents in batches, and then its synchronisation record. Returns the number of documents.
    ///
    /// # Errors
    ///
    /// If the disk or the engine fails. Batches before the error stay deleted.
    pub async fn delete_source(&self, source: String) -> Result<u64, IndexError> {
        match self {
            Self::Local(index) => index.in_turn(move |index| index.delete_source(&source)).await,
            Self::External(index) => index.delete_source(&source).await,
        }
    }
}

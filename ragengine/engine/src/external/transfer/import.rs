use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

use ragengine_client::wire::SourceSync;
use ragengine_errors::Logged as _;
use ragengine_index::archive::{ArchiveError, IndexHeader, Manifest, Piece, Row, read};
use ragengine_index::catalog::Existing;
use ragengine_index::chunking::Chunk;
use ragengine_index::name::check_name;
use ragengine_index::record::{ChunkRecord, IndexRecord};
use ragengine_index::sources::SharedSync;
use ragengine_index::transfer::{admit, chosen};
use ragengine_index::whole_document::Places;
use ragengine_index::{Analyzer, IndexError, NamedText};
use ragengine_settings::{EmbeddingSource, VectorIndexKind};
use ragengine_stores::{CatalogueIndex, NewIndex, Published};
use ragengine_vector_database::Document;
use tokio::runtime::Handle;
use tracing::{info, warn};
use uuid::Uuid;

use crate::external::fault::{of_catalogue, of_engine};
use crate::external::sources::row_of;
use crate::external::writing::chunk_of;
use crate::external::{ExternalCatalog, ExternalIndex};

/// The approximate size of a request, in bytes of rows.
const BATCH_BYTES: u64 = 4 << 20;

/// The most chunks in a request.
const BATCH_CHUNKS: usize = 500;

impl ExternalCatalog {
    /// Creates the indexes of an archive, or one of them, in one step when the archive has been read completely.
    /// Blocks, so call it outside the async runtime, on a thread that belongs to it.
    ///
    /// # Errors
    ///
    /// An error of the archive, [`IndexError::NotInCopy`], [`IndexError::Exists`] or [`IndexError::TooMany`], or if
    /// the vector database or the database fails. Nothing has changed then, unless PostgreSQL did the last step and
    /// answered too late: then the indexes are there.
    pub fn import(
        &self,
        source: impl Read,
        existing: Existing,
        max_block_bytes: u64,
        only: Option<&str>,
    ) -> Result<Vec<Arc<ExternalIndex>>, IndexError> {
        let mut restoring =
            Restoring { catalog: self, runtime: Handle::current(), names: Vec::new(), made: Vec::new() };
        let filled = restoring.fill(source, existing, max_block_bytes, only);
        let published = filled.and_then(|()| restoring.runtime.block_on(restoring.publish(existing)));
        if published.is_err() {
            restoring.runtime.block_on(restoring.abandon());
        }
        published
    }

    /// The embedding settings of the server and of its indexes.
    fn embedding_sources(&self) -> Vec<EmbeddingSource> {
        let of_indexes = self.seen().into_iter().filter_map(|index| index.embedding_source().cloned());
        [self.options.embedding.clone()].into_iter().chain(of_indexes).collect()
    }
}

/// Indexes that are being made from an archive.
struct Restoring<'a> {
    catalog: &'a ExternalCatalog,
    runtime: Handle,
    /// The names of the indexes that follow, in reverse. None: passed over.
    names: Vec<Option<String>>,
    made: Vec<Staged>,
}

impl Restoring<'_> {
    fn fill(
        &mut self,
        source: impl Read,
        existing: Existing,
        max_block_bytes: u64,
        only: Option<&str>,
    ) -> Result<(), IndexError> {
        let known = self.catalog.embedding_sources();
        let mut is_wanted = false;
        read(source, max_block_bytes, |piece| {
            match piece {
                Piece::Manifest(manifest) => self.begin(&manifest, existing, only)?,
                Piece::Index(_, mut header) => {
                    self.flush()?;
                    let name = self.names.pop().flatten();
                    is_wanted = name.is_some();
                    header.embedding = header.embedding.map(|source| admit(source, &known));
                    if let Some(name) = name {
                        let staged = self.runtime.block_on(Staged::begin(self.catalog, name, *header))?;
                        self.made.push(staged);
                    }
                }
                Piece::Rows(rows) if is_wanted => {
                    if let Some(staged) = self.made.last_mut() {
                        rows.into_iter().try_for_each(|row| self.runtime.block_on(staged.put(row)))?;
                    }
                }
                Piece::Rows(_) => {}
            }
            Ok::<(), IndexError>(())
        })?;
        self.flush()
    }

    /// Checks the names before everything was sent. `publish` checks again.
    fn begin(&mut self, manifest: &Manifest, existing: Existing, only: Option<&str>) -> Result<(), IndexError> {
        let names = chosen(manifest, only)?;
        names.iter().flatten().try_for_each(|name| check_name(name))?;
        let there = self.runtime.block_on(self.catalog.options.catalogue.all()).map_err(of_catalogue)?;
        let is_there = |name: &&String| there.iter().any(|row| row.name == **name);
        let both: Vec<String> = names.iter().flatten().filter(is_there).cloned().collect();
        if existing == Existing::Keep && !both.is_empty() {
            return Err(IndexError::Exists(both));
        }
        let (after, most) =
            (there.len() + names.iter().flatten().count() - both.len(), self.catalog.options.max_indexes);
        if after > most as usize {
            return Err(IndexError::TooMany(most));
        }
        self.names = names.into_iter().rev().collect();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        self.made.last_mut().map_or(Ok(()), |staged| self.runtime.block_on(staged.flush()))
    }

    async fn publish(&self, existing: Existing) -> Result<Vec<Arc<ExternalIndex>>, IndexError> {
        let catalogue = &self.catalog.options.catalogue;
        let numbers: Vec<i64> = self.made.iter().map(|staged| staged.row.number).collect();
        let max_indexes = self.catalog.options.max_indexes;
        let published = catalogue.publish(&numbers, existing == Existing::Replace, max_indexes).await;
        let replaced = match published.map_err(of_catalogue)? {
            Published::Done(replaced) => replaced,
            Published::Exists(names) => return Err(IndexError::Exists(names)),
            Published::TooMany => return Err(IndexError::TooMany(max_indexes)),
        };
        // From here on nothing fails: the indexes are shown, and may not be abandoned.
        let show = |staged: &Staged| {
            let index = self.catalog.shown(Arc::clone(&staged.index));
            info!(index = index.name(), documents = staged.documents, "index loaded from a copy");
            index
        };
        let made = self.made.iter().map(show).collect();
        for row in replaced {
            self.catalog.finish_deletion_or_leave(&row).await;
        }
        Ok(made)
    }

    /// Deletes what was made. What cannot be deleted now is deleted later. What was published stays: the reply to that
    /// may have come too late.
    async fn abandon(&self) {
        for staged in &self.made {
            match self.catalog.options.catalogue.abandon(staged.row.number).await {
                Ok(true) => self.catalog.finish_deletion_or_leave(&staged.row).await,
                Ok(false) => warn!(index = staged.row.name, "an index of a copy is not abandoned: it was published"),
                Err(error) => {
                    warn!(reason = error.for_log(), "an unfinished index is left in the vector engine until later");
                }
            }
        }
    }
}

/// An index that is being made from an archive.
struct Staged {
    row: CatalogueIndex,
    index: Arc<ExternalIndex>,
    analyzer: Analyzer,
    /// The document whose chunks are being read, and where they are in its text.
    open: Option<Open>,
    batch: Vec<Document>,
    batch_bytes: u64,
    batch_chunks: usize,
    documents: u64,
}

struct Open {
    document: Document,
    named: NamedText,
}

impl Staged {
    async fn begin(catalog: &ExternalCatalog, name: String, header: IndexHeader) -> Result<Self, IndexError> {
        let record = IndexRecord { vector_index: kind_here(header.record.vector_index), ..header.record };
        let shape = catalog.shape(&record)?;
        let new = NewIndex {
            name,
            store_id: Uuid::new_v4().to_string(),
            record: serde_json::to_string(&record).unwrap_or_default(),
            embedding: header.embedding.and_then(|source| serde_json::to_string(&source).ok()),
        };
        let catalogue = Arc::clone(&catalog.options.catalogue);
        let row = catalogue.stage(new).await.map_err(of_catalogue)?;
        let made = catalog.made_in_engine(&row, &shape).await;
        let index = match made.and_then(|engine| catalog.index_of(&row, engine)) {
            Ok(index) => index,
            Err(error) => {
                // What is left of it is deleted later.
                drop(catalogue.abandon(row.number).await);
                return Err(error);
            }
        };
        let analyzer = Analyzer::new(catalog.options.language);
        let (open, batch, batch_bytes, batch_chunks, documents) = (None, Vec::new(), 0, 0, 0);
        Ok(Self { row, index, analyzer, open, batch, batch_bytes, batch_chunks, documents })
    }

    async fn put(&mut self, row: Row) -> Result<(), IndexError> {
        self.batch_bytes += row.bytes();
        match row {
            Row::Document { record, text, revision, .. } => {
                self.close();
                if self.batch_bytes >= BATCH_BYTES || self.batch_chunks >= BATCH_CHUNKS {
                    self.write().await?;
                }
                let metadata = record.metadata();
                let named = NamedText::of(&metadata);
                let (doc_id, source, content_hash) = (record.doc_id, record.source, record.content_hash);
                let chunks = Vec::new();
                let document = Document { doc_id, text, metadata, source, content_hash, revision, chunks };
                self.open = Some(Open { document, named });
            }
            Row::Chunk { record, vector, page } => self.put_chunk(record, vector, page)?,
            Row::Sync { source, json } => {
                self.close();
                self.put_sync(&source, &json).await?;
            }
        }
        Ok(())
    }

    fn put_chunk(&mut self, record: ChunkRecord, vector: Vec<f32>, page: Option<u32>) -> Result<(), IndexError> {
        let missing = || ArchiveError::Damaged("a chunk has no document".to_owned());
        let Open { document, named } = self.open.as_mut().ok_or_else(missing)?;
        let chunk = Chunk { heading: record.heading, page, text: record.text };
        document.chunks.push(chunk_of(&chunk, record.hash, vector, named, &mut self.analyzer));
        self.batch_chunks += 1;
        Ok(())
    }

    /// The owner may be gone, and the restored documents must not be deleted with it.
    async fn put_sync(&self, source: &str, json: &str) -> Result<(), IndexError> {
        let latest = serde_json::from_str::<SourceSync>(json);
        let latest = latest.map_err(|error| ArchiveError::Damaged(error.to_string()))?;
        let shared = SharedSync { latest: SourceSync { owner: None, ..latest }, began_ms: 0, leased_until_ms: None };
        let row = row_of(source, shared);
        let stored = self.index.catalogue.update_sync(self.row.number, source, |_| Ok::<_, IndexError>(row)).await;
        stored.map_err(of_catalogue)?.map(drop)
    }

    /// The document has all its chunks.
    fn close(&mut self) {
        let Some(Open { mut document, .. }) = self.open.take() else { return };
        let mut places = Places::of(&document.text);
        for chunk in &mut document.chunks {
            let place = places.next(&chunk.text);
            (chunk.place.start, chunk.place.end) = (place.map(|(start, _)| start), place.map(|(_, end)| end));
        }
        self.documents += 1;
        self.batch.push(document);
    }

    async fn flush(&mut self) -> Result<(), IndexError> {
        self.close();
        self.write().await
    }

    async fn write(&mut self) -> Result<(), IndexError> {
        let batch = last_copies(std::mem::take(&mut self.batch));
        self.index.engine.put(&batch).await.map_err(of_engine)?;
        (self.batch_bytes, self.batch_chunks) = (0, 0);
        Ok(())
    }
}

/// The last copy of each document. An archive of an older version may have one twice.
fn last_copies(documents: Vec<Document>) -> Vec<Document> {
    let mut ids = HashSet::new();
    let mut last: Vec<Document> =
        documents.into_iter().rev().filter(|document| ids.insert(document.doc_id.clone())).collect();
    last.reverse();
    last
}

/// A kind that the vector database does not have becomes the usual one. It says only how vectors are searched.
fn kind_here(kind: VectorIndexKind) -> VectorIndexKind {
    match kind {
        VectorIndexKind::Flat | VectorIndexKind::Hnsw { .. } => kind,
        _ => VectorIndexKind::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_copies_of_a_document_the_last_one_is_kept() {
        let document = |doc_id: &str, text: &str| Document {
            doc_id: doc_id.to_owned(),
            text: text.to_owned(),
            metadata: Default::default(),
            source: None,
            content_hash: String::new(),
            revision: None,
            chunks: Vec::new(),
        };
        let documents = vec![document("a", "1"), document("b", "2"), document("a", "3"), document("c", "4")];
        assert_eq!(last_copies(documents), [document("b", "2"), document("a", "3"), document("c", "4")]);
    }
}

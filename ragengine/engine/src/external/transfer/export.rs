use std::collections::HashSet;
use std::io::{self, ErrorKind, Write};
use std::pin::pin;
use std::sync::Arc;

use ragengine_index::IndexError;
use ragengine_index::archive::{ArchiveError, ArchiveWriter, IndexHeader, Manifest, Row};
use ragengine_index::record::{ChunkRecord, DocumentRecord};
use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{DocumentRecord as Stored, Selection, StoredChunk};
use tokio::runtime::Handle;
use uuid::Uuid;

use super::spool::Spool;
use crate::external::chunks::hash_of;
use crate::external::fault::{of_catalogue, of_engine};
use crate::external::listing::groups;
use crate::external::sources::shared;
use crate::external::{ExternalCatalog, ExternalIndex};

/// Documents of one page of a list.
const LISTED_AT_ONCE: usize = 1000;

/// How often a document is read again that was replaced while it was read.
const MAX_READS: u32 = 5;

impl ExternalCatalog {
    /// Writes indexes to an archive. Each document is whole, and as it was at some time while the archive was written.
    /// Blocks, so call it outside the async runtime, on a thread that belongs to it.
    ///
    /// # Errors
    ///
    /// If the output, the vector database or the database fails, or when `reader_left` ends: an index is read as a whole
    /// before any of it is written, so a write alone would tell hours later.
    pub fn export<W: Write>(
        &self,
        indexes: &[Arc<ExternalIndex>],
        output: W,
        reader_left: impl Future<Output = ()>,
    ) -> Result<W, IndexError> {
        let names = indexes.iter().map(|index| index.name().to_owned()).collect();
        let mut archive = ArchiveWriter::begin(output, &Manifest::new(self.data_id(), names))?;
        let mut reader_left = pin!(reader_left);
        for index in indexes {
            let mut rows = Rows::new()?;
            Handle::current().block_on(spool_for(reader_left.as_mut(), index, &mut rows))?;
            // A replica may be lost while the index is read.
            Handle::current().block_on(index.require_all_replicas())?;
            archive.index(index.name(), &rows.header(index))?;
            rows.spool.each(|row| Ok::<(), IndexError>(archive.row(&row)?))?;
        }
        Ok(archive.end()?)
    }
}

/// Spools an index, until the reader of the archive has left.
async fn spool_for(
    reader_left: impl Future<Output = ()>,
    index: &ExternalIndex,
    rows: &mut Rows,
) -> Result<(), IndexError> {
    tokio::select! {
        biased;
        () = reader_left => Err(ArchiveError::Write(io::Error::new(ErrorKind::BrokenPipe, "the client left")).into()),
        spooled = index.spool(rows) => spooled,
    }
}

/// The rows of an index, numbered as in a local one.
struct Rows {
    spool: Spool,
    /// The documents that are there. One that is deleted and added again meanwhile comes a second time in the list.
    ids: HashSet<Uuid>,
    documents: u64,
    chunks: u64,
}

impl Rows {
    fn new() -> Result<Self, IndexError> {
        Ok(Self { spool: Spool::new()?, ids: HashSet::new(), documents: 0, chunks: 0 })
    }

    fn header(&self, index: &ExternalIndex) -> IndexHeader {
        IndexHeader {
            record: index.record().clone(),
            documents: self.documents,
            chunks: self.chunks,
            next_document: self.documents,
            next_row: self.chunks,
            embedding: index.embedding_source().cloned(),
        }
    }

    /// Adds a document, unless it is there.
    fn put(&mut self, document: Stored, text: String, chunks: Vec<StoredChunk>) -> Result<(), IndexError> {
        if !self.ids.insert(document.id) {
            return Ok(());
        }
        let number = self.documents;
        let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        let record = DocumentRecord {
            doc_id: document.doc_id,
            metadata: serde_json::Value::Object(document.metadata).to_string(),
            source: document.source,
            content_hash: document.content_hash,
            first_row: self.chunks,
            chunks: count,
            text_bytes: text.len() as u64,
        };
        self.documents += 1;
        self.chunks += u64::from(count);
        self.spool.put(&Row::Document { number, record, text, revision: document.revision })?;
        for StoredChunk { ordinal, heading, page, text, hash, vector } in chunks {
            let record = ChunkRecord { document: number, ordinal, heading, text, hash: hash_of(&hash) };
            self.spool.put(&Row::Chunk { record, vector, page })?;
        }
        Ok(())
    }
}

impl ExternalIndex {
    /// Checks that no replica is known to be behind, whose lists would lack documents.
    ///
    /// # Errors
    ///
    /// An error that is temporary.
    pub async fn require_all_replicas(&self) -> Result<(), IndexError> {
        self.engine.require_all_replicas().await.map_err(of_engine)
    }

    async fn spool(&self, rows: &mut Rows) -> Result<(), IndexError> {
        let (everything, mut after) = (Filter::default(), None);
        loop {
            let page = self.engine.list(Selection::Filter(&everything), after, LISTED_AT_ONCE);
            let page = page.await.map_err(of_engine)?;
            for documents in groups(&page.documents) {
                self.spool_documents(documents, rows).await?;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        for row in self.catalogue.syncs(self.number).await.map_err(of_catalogue)? {
            if shared(&row).is_some() {
                rows.spool.put(&Row::Sync { source: row.source, json: row.sync })?;
            }
        }
        Ok(())
    }

    async fn spool_documents(&self, documents: &[Stored], rows: &mut Rows) -> Result<(), IndexError> {
        let texts = self.engine.texts(documents).await.map_err(of_engine)?;
        let mut chunks = self.engine.chunks(documents).await.map_err(of_engine)?;
        for (document, text) in documents.iter().zip(texts) {
            let chunks = chunks.remove(&document.id).unwrap_or_default();
            match text.filter(|_| chunks.len() as u64 == document.chunk_count) {
                Some(text) => rows.put(document.clone(), text, chunks)?,
                None => self.spool_again(&document.doc_id, rows).await?,
            }
        }
        Ok(())
    }

    /// Reads a document that was replaced while it was read. One that was deleted is left out.
    async fn spool_again(&self, doc_id: &str, rows: &mut Rows) -> Result<(), IndexError> {
        for _ in 0..MAX_READS {
            let Some(record) = self.engine.record(doc_id).await.map_err(of_engine)? else { return Ok(()) };
            let text = self.engine.text(&record).await.map_err(of_engine)?;
            let mut chunks = self.engine.chunks(std::slice::from_ref(&record)).await.map_err(of_engine)?;
            let chunks = chunks.remove(&record.id).unwrap_or_default();
            if let Some(text) = text
                && chunks.len() as u64 == record.chunk_count
            {
                return rows.put(record, text, chunks);
            }
        }
        let reason = "a document is incomplete in the vector database: write it again".to_owned();
        Err(IndexError::Unavailable { index: self.name.clone(), reason })
    }
}

#[cfg(test)]
mod tests {
    use ragengine_vector_database::Generation;

    use super::*;

    #[test]
    fn a_document_that_is_listed_twice_is_in_the_archive_once() {
        let document = |number: u128, content_hash: &str| Stored {
            id: Uuid::from_u128(number),
            doc_id: format!("d{number}"),
            generation: Generation::new(),
            place_us: 1,
            metadata: Default::default(),
            metadata_bytes: 2,
            source: None,
            content_hash: content_hash.to_owned(),
            revision: None,
            chunk_count: 0,
            text_bytes: 1,
        };
        let mut rows = Rows::new().unwrap();
        for (number, content_hash) in [(1, "a"), (2, "b"), (1, "c")] {
            rows.put(document(number, content_hash), "x".to_owned(), Vec::new()).unwrap();
        }
        assert_eq!(rows.documents, 2);
        let mut hashes = Vec::new();
        let keep = |row| {
            if let Row::Document { record, .. } = row {
                hashes.push(record.content_hash);
            }
            Ok::<_, IndexError>(())
        };
        rows.spool.each(keep).unwrap();
        assert_eq!(hashes, ["a", "b"]);
    }
}

use std::cell::RefCell;

use ragengine_client::wire::SourceSync;
use ragengine_settings::EmbeddingSource;
use redb::{ReadableTable as _, WriteTransaction};

use super::changes::Changes;
use super::tables::{
    CHUNKS, DOCUMENTS, HASHES, META, NEXT_ROW, NUMBERS, PAGES, REVISIONS, SYNCS, TEXTS, TOKEN_COUNTS, VECTORS,
};
use super::{EMBEDDING, StoreError, number_of};
use crate::record::{ChunkRecord, DocumentRecord};

/// The number of transactions that changed documents.
pub(super) const CHANGE_COUNTER: &str = "changes";

/// A write transaction. It is rolled back if it is dropped without a commit.
pub struct Transaction {
    inner: WriteTransaction,
    changes: RefCell<Changes>,
}

impl Transaction {
    pub(super) fn new(inner: WriteTransaction) -> Self {
        Self { inner, changes: RefCell::default() }
    }

    pub(super) fn inner(&self) -> &WriteTransaction {
        &self.inner
    }

    /// Commits durably. Returns the changed documents.
    pub(super) fn commit(self) -> Result<Changes, StoreError> {
        if self.changes.borrow().len() > 0 {
            self.take(CHANGE_COUNTER, 1)?;
        }
        self.inner.commit().map_err(redb::Error::from)?;
        Ok(self.changes.into_inner())
    }

    pub(super) fn put_meta(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        let mut table = self.inner.open_table(META).map_err(redb::Error::from)?;
        table.insert(key, value).map_err(redb::Error::from)?;
        Ok(())
    }

    /// The number and record of the document with this id.
    pub fn document_by_id(&self, doc_id: &str) -> Result<Option<(u64, DocumentRecord)>, StoreError> {
        let numbers = self.inner.open_table(NUMBERS).map_err(redb::Error::from)?;
        let Some(number) = numbers.get(doc_id).map_err(redb::Error::from)?.map(|number| number.value()) else {
            return Ok(None);
        };
        let document = self.document(number)?;
        let document = document.ok_or_else(|| StoreError::Damaged(format!("document {number} is missing")))?;
        Ok(Some((number, document)))
    }

    /// The record of a document, without its text.
    pub fn document(&self, number: u64) -> Result<Option<DocumentRecord>, StoreError> {
        let documents = self.inner.open_table(DOCUMENTS).map_err(redb::Error::from)?;
        match documents.get(number).map_err(redb::Error::from)? {
            Some(bytes) => Ok(Some(postcard::from_bytes(bytes.value())?)),
            None => Ok(None),
        }
    }

    /// Assigns the number of a new document. Numbers are never reused.
    pub fn next_document(&self) -> Result<u64, StoreError> {
        self.take("next_document", 1)
    }

    /// Assigns `count` consecutive rows and returns the first. Rows are never reused.
    pub fn next_rows(&self, count: u32) -> Result<u64, StoreError> {
        self.take(NEXT_ROW, u64::from(count))
    }

    /// Notes that a document changes in this transaction.
    pub(super) fn note_document(&self, doc_id: &str) {
        self.changes.borrow_mut().add_document(doc_id);
    }

    /// Writes a document's record and text.
    pub fn put_document(&self, number: u64, record: &DocumentRecord, text: &str) -> Result<(), StoreError> {
        self.note_document(&record.doc_id);
        let bytes = postcard::to_stdvec(record)?;
        self.inner
            .open_table(DOCUMENTS)
            .map_err(redb::Error::from)?
            .insert(number, bytes.as_slice())
            .map_err(redb::Error::from)?;
        self.inner.open_table(TEXTS).map_err(redb::Error::from)?.insert(number, text).map_err(redb::Error::from)?;
        self.inner
            .open_table(NUMBERS)
            .map_err(redb::Error::from)?
            .insert(record.doc_id.as_str(), number)
            .map_err(redb::Error::from)?;
        Ok(())
    }

    /// Sets or removes a document's revision.
    pub fn put_revision(&self, number: u64, revision: Option<&str>) -> Result<(), StoreError> {
        self.changes.borrow_mut().add_number(number);
        let mut table = self.inner.open_table(REVISIONS).map_err(redb::Error::from)?;
        match revision {
            Some(revision) => table.insert(number, revision).map_err(redb::Error::from)?,
            None => table.remove(number).map_err(redb::Error::from)?,
        };
        Ok(())
    }

    /// Writes the pages of chunks, by row.
    pub fn put_pages(&self, pages: impl IntoIterator<Item = (u64, u32)>) -> Result<(), StoreError> {
        let mut table = self.inner.open_table(PAGES).map_err(redb::Error::from)?;
        for (row, page) in pages {
            table.insert(row, page).map_err(redb::Error::from)?;
        }
        Ok(())
    }

    /// Sets or removes a source's last finished synchronisation.
    pub fn put_sync(&self, source: &str, sync: Option<&SourceSync>) -> Result<(), StoreError> {
        let mut table = self.inner.open_table(SYNCS).map_err(redb::Error::from)?;
        match sync {
            Some(sync) => {
                let json = serde_json::to_vec(sync).map_err(|error| StoreError::Damaged(error.to_string()))?;
                table.insert(source, json.as_slice()).map_err(redb::Error::from)?
            }
            None => table.remove(source).map_err(redb::Error::from)?,
        };
        Ok(())
    }

    /// Writes chunks and their vectors to consecutive rows.
    pub fn put_chunks<'a>(
        &self,
        first_row: u64,
        chunks: impl IntoIterator<Item = (&'a ChunkRecord, &'a [f32])>,
    ) -> Result<(), StoreError> {
        let mut chunk_table = self.inner.open_table(CHUNKS).map_err(redb::Error::from)?;
        let mut vectors = self.inner.open_table(VECTORS).map_err(redb::Error::from)?;
        let mut hashes = self.inner.open_table(HASHES).map_err(redb::Error::from)?;
        for (row, (chunk, vector)) in (first_row..).zip(chunks) {
            chunk_table.insert(row, postcard::to_stdvec(chunk)?.as_slice()).map_err(redb::Error::from)?;
            let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
            vectors.insert(row, bytes.as_slice()).map_err(redb::Error::from)?;
            hashes.insert((&chunk.hash, row), ()).map_err(redb::Error::from)?;
        }
        Ok(())
    }

    /// Removes a document's chunks and vectors, but not the document.
    pub fn remove_chunks(&self, record: &DocumentRecord) -> Result<(), StoreError> {
        let mut chunks = self.inner.open_table(CHUNKS).map_err(redb::Error::from)?;
        let mut vectors = self.inner.open_table(VECTORS).map_err(redb::Error::from)?;
        let mut hashes = self.inner.open_table(HASHES).map_err(redb::Error::from)?;
        for row in record.rows() {
            let removed = chunks.remove(row).map_err(redb::Error::from)?;
            let hash = match &removed {
                Some(bytes) => postcard::from_bytes::<ChunkRecord>(bytes.value())?.hash,
                None => return Err(StoreError::Damaged(format!("chunk {row} is missing"))),
            };
            vectors.remove(row).map_err(redb::Error::from)?;
            hashes.remove((&hash, row)).map_err(redb::Error::from)?;
        }
        let mut counts = self.inner.open_table(TOKEN_COUNTS).map_err(redb::Error::from)?;
        let rows = record.rows();
        counts.retain_in((rows.start, 0)..(rows.end, 0), |_, _| false).map_err(redb::Error::from)?;
        let mut pages = self.inner.open_table(PAGES).map_err(redb::Error::from)?;
        pages.retain_in(record.rows(), |_, _| false).map_err(redb::Error::from)?;
        Ok(())
    }

    /// Removes a document and its chunks.
    pub fn remove_document(&self, number: u64, record: &DocumentRecord) -> Result<(), StoreError> {
        self.note_document(&record.doc_id);
        self.remove_chunks(record)?;
        self.put_revision(number, None)?;
        self.inner.open_table(DOCUMENTS).map_err(redb::Error::from)?.remove(number).map_err(redb::Error::from)?;
        self.inner.open_table(TEXTS).map_err(redb::Error::from)?.remove(number).map_err(redb::Error::from)?;
        self.inner
            .open_table(NUMBERS)
            .map_err(redb::Error::from)?
            .remove(record.doc_id.as_str())
            .map_err(redb::Error::from)?;
        Ok(())
    }

    /// Writes the settings of the embedding model. They name secrets and contain none.
    pub fn put_embedding_source(&self, source: &EmbeddingSource) -> Result<(), StoreError> {
        let json = serde_json::to_vec(source).map_err(|error| StoreError::Damaged(error.to_string()))?;
        self.put_meta(EMBEDDING, &json)
    }

    fn take(&self, counter: &str, count: u64) -> Result<u64, StoreError> {
        let mut table = self.inner.open_table(META).map_err(redb::Error::from)?;
        let next =
            table.get(counter).map_err(redb::Error::from)?.map_or(Ok(0), |bytes| number_of(counter, bytes.value()))?;
        let after = next.checked_add(count).ok_or_else(|| StoreError::Damaged(format!("{counter} is at its end")))?;
        table.insert(counter, after.to_le_bytes().as_slice()).map_err(redb::Error::from)?;
        Ok(next)
    }
}

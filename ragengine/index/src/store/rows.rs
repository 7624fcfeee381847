//! Exports a store as rows, for an archive, and imports rows.

use ragengine_client::wire::SourceSync;
use redb::{ReadableTable as _, ReadableTableMetadata as _, Table, WriteTransaction};

use super::reader::Reader;
use super::tables::{CHUNKS, DOCUMENTS, HASHES, NUMBERS, PAGES, REVISIONS, TEXTS, VECTORS};
use super::transaction::Transaction;
use super::{StoreError, meta};
use crate::archive::{IndexHeader, Row};
use crate::record::{ChunkRecord, DocumentRecord, IndexRecord};

impl Reader {
    /// The header for an archive of this index.
    pub fn header(&self, record: &IndexRecord) -> Result<IndexHeader, StoreError> {
        Ok(IndexHeader {
            record: record.clone(),
            documents: self.table(DOCUMENTS)?.len().map_err(redb::Error::from)?,
            chunks: self.table(CHUNKS)?.len().map_err(redb::Error::from)?,
            next_document: self.counter("next_document")?,
            next_row: self.counter("next_row")?,
            embedding: self.embedding_source()?,
        })
    }

    /// Calls `visit` with every row: documents in order of their numbers, each followed by its chunks, then
    /// synchronisation records.
    ///
    /// # Errors
    ///
    /// An error of the store or of `visit`.
    pub fn each_row<E: From<StoreError>>(&self, mut visit: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let (documents, texts) = (self.table(DOCUMENTS)?, self.table(TEXTS)?);
        for entry in documents.iter().map_err(refused)? {
            let (number, bytes) = entry.map_err(refused)?;
            let number = number.value();
            let record: DocumentRecord = postcard::from_bytes(bytes.value()).map_err(StoreError::from)?;
            let text = texts.get(number).map_err(refused)?.map(|text| text.value().to_owned());
            let text = text.ok_or_else(|| StoreError::Damaged(format!("the text of document {number} is missing")))?;
            let revision = self.revisions([number])?.pop().flatten();
            visit(Row::Document { number, record: record.clone(), text, revision })?;
            for row in record.rows() {
                let missing = || StoreError::Damaged(format!("chunk {row} is missing"));
                let chunk = self.chunks([row])?.pop().ok_or_else(missing)?;
                let vector = self.vector(row)?.ok_or_else(missing)?;
                visit(Row::Chunk { record: chunk, vector, page: self.pages([row])?.pop().flatten() })?;
            }
        }
        for (source, sync) in self.syncs()? {
            let json = serde_json::to_string(&sync).map_err(|error| StoreError::Damaged(error.to_string()))?;
            visit(Row::Sync { source, json })?;
        }
        Ok(())
    }

    fn counter(&self, name: &str) -> Result<u64, StoreError> {
        let damaged = || StoreError::Damaged(format!("{name} is not a number"));
        // An index that never had a document has no counters yet.
        let bytes = meta(&self.transaction, name)?.unwrap_or_else(|| 0_u64.to_le_bytes().to_vec());
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| damaged())?))
    }
}

impl Transaction {
    /// Sets the counters of [`Self::next_document`] and [`Self::next_rows`] in a store that is made from an archive.
    pub fn put_counters(&self, header: &IndexHeader) -> Result<(), StoreError> {
        self.put_meta("next_document", &header.next_document.to_le_bytes())?;
        self.put_meta("next_row", &header.next_row.to_le_bytes())
    }

    /// Writes rows in order. `document` is the last document written; chunks belong to it.
    pub fn put_rows(&self, rows: &[Row], document: &mut Option<DocumentRecord>) -> Result<(), StoreError> {
        let mut tables = RowTables::open(self.inner())?;
        for row in rows {
            match row {
                Row::Document { number, record, text, revision } => {
                    self.note_document(&record.doc_id);
                    tables.put_document(*number, record, text, revision.as_deref())?;
                    *document = Some(record.clone());
                }
                Row::Chunk { record, vector, page } => {
                    let owner = document.as_ref();
                    let owner = owner.ok_or_else(|| StoreError::Damaged("a chunk has no document".to_owned()))?;
                    tables.put_chunk(owner.first_row + u64::from(record.ordinal), record, vector, *page)?;
                }
                Row::Sync { source, json } => {
                    let sync: SourceSync =
                        serde_json::from_str(json).map_err(|error| StoreError::Damaged(error.to_string()))?;
                    // The owner may be gone, and the restored documents must not be deleted with it.
                    self.put_sync(source, Some(&SourceSync { owner: None, ..sync }))?;
                }
            }
        }
        Ok(())
    }
}

/// The tables of documents and chunks, opened once for many rows: opening a table costs more than inserting a row.
struct RowTables<'t> {
    documents: Table<'t, u64, &'static [u8]>,
    texts: Table<'t, u64, &'static str>,
    numbers: Table<'t, &'static str, u64>,
    revisions: Table<'t, u64, &'static str>,
    chunks: Table<'t, u64, &'static [u8]>,
    vectors: Table<'t, u64, &'static [u8]>,
    hashes: Table<'t, (&'static [u8; 32], u64), ()>,
    pages: Table<'t, u64, u32>,
    /// The vector that is being written.
    bytes: Vec<u8>,
}

impl<'t> RowTables<'t> {
    fn open(transaction: &'t WriteTransaction) -> Result<Self, StoreError> {
        Ok(Self {
            documents: transaction.open_table(DOCUMENTS).map_err(refused)?,
            texts: transaction.open_table(TEXTS).map_err(refused)?,
            numbers: transaction.open_table(NUMBERS).map_err(refused)?,
            revisions: transaction.open_table(REVISIONS).map_err(refused)?,
            chunks: transaction.open_table(CHUNKS).map_err(refused)?,
            vectors: transaction.open_table(VECTORS).map_err(refused)?,
            hashes: transaction.open_table(HASHES).map_err(refused)?,
            pages: transaction.open_table(PAGES).map_err(refused)?,
            bytes: Vec::new(),
        })
    }

    fn put_document(
        &mut self,
        number: u64,
        record: &DocumentRecord,
        text: &str,
        revision: Option<&str>,
    ) -> Result<(), StoreError> {
        if self.numbers.insert(record.doc_id.as_str(), number).map_err(refused)?.is_some() {
            return Err(StoreError::Damaged(format!("it has document '{}' twice", record.doc_id)));
        }
        self.documents.insert(number, postcard::to_stdvec(record)?.as_slice()).map_err(refused)?;
        self.texts.insert(number, text).map_err(refused)?;
        if let Some(revision) = revision {
            self.revisions.insert(number, revision).map_err(refused)?;
        }
        Ok(())
    }

    fn put_chunk(
        &mut self,
        row: u64,
        record: &ChunkRecord,
        vector: &[f32],
        page: Option<u32>,
    ) -> Result<(), StoreError> {
        self.bytes.clear();
        self.bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        self.chunks.insert(row, postcard::to_stdvec(record)?.as_slice()).map_err(refused)?;
        self.vectors.insert(row, self.bytes.as_slice()).map_err(refused)?;
        self.hashes.insert((&record.hash, row), ()).map_err(refused)?;
        if let Some(page) = page {
            self.pages.insert(row, page).map_err(refused)?;
        }
        Ok(())
    }
}

fn refused(error: impl Into<redb::Error>) -> StoreError {
    error.into().into()
}

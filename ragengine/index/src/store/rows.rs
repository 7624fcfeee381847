//! Exports a store as rows, for an archive, and imports rows.

use ragengine_client::wire::SourceSync;
use redb::{ReadableTable as _, ReadableTableMetadata as _};

use super::reader::Reader;
use super::tables::{CHUNKS, DOCUMENTS, TEXTS};
use super::transaction::Transaction;
use super::{StoreError, meta};
use crate::archive::{IndexHeader, Row};
use crate::record::{DocumentRecord, IndexRecord};

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
        for row in rows {
            match row {
                Row::Document { number, record, text, revision } => {
                    if self.document_by_id(&record.doc_id)?.is_some() {
                        return Err(StoreError::Damaged(format!("it has document '{}' twice", record.doc_id)));
                    }
                    self.put_document(*number, record, text)?;
                    self.put_revision(*number, revision.as_deref())?;
                    *document = Some(record.clone());
                }
                Row::Chunk { record, vector, page } => {
                    let owner = document.as_ref();
                    let owner = owner.ok_or_else(|| StoreError::Damaged("a chunk has no document".to_owned()))?;
                    let number = owner.first_row + u64::from(record.ordinal);
                    self.put_chunks(number, [(record, vector.as_slice())])?;
                    self.put_pages(page.map(|page| (number, page)))?;
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

fn refused(error: impl Into<redb::Error>) -> StoreError {
    error.into().into()
}

use std::ops::Range;

use ragengine_client::wire::SourceSync;
use ragengine_settings::EmbeddingSource;
use redb::{Key, ReadOnlyTable, ReadTransaction, ReadableTable as _, TableDefinition, TableError, Value};
use uuid::Uuid;

use super::tables::{CHUNKS, DOCUMENTS, HASHES, NEXT_ROW, NUMBERS, PAGES, REVISIONS, SYNCS, TEXTS, VECTORS};
use super::transaction::CHANGE_COUNTER;
use super::{EMBEDDING, StoreError, meta, number_of};
use crate::record::{ChunkRecord, DocumentRecord, IndexRecord};

/// A reader of the store's state at one moment.
pub struct Reader {
    pub(super) transaction: ReadTransaction,
}

impl Reader {
    pub(super) fn new(transaction: ReadTransaction) -> Self {
        Self { transaction }
    }

    pub(super) fn index_record(&self, known_format: &str) -> Result<IndexRecord, StoreError> {
        let format = meta(&self.transaction, "format")?.unwrap_or_default();
        if format != known_format.as_bytes() {
            return Err(StoreError::Format(String::from_utf8_lossy(&format).into_owned()));
        }
        let record =
            meta(&self.transaction, "index")?.ok_or_else(|| StoreError::Damaged("it has no record".to_owned()))?;
        Ok(postcard::from_bytes(&record)?)
    }

    /// The settings of the embedding model. None if an old version did not save them, or another version saved them in
    /// a form that this one cannot read.
    pub fn embedding_source(&self) -> Result<Option<EmbeddingSource>, StoreError> {
        let json = meta(&self.transaction, EMBEDDING)?;
        Ok(json.and_then(|json| serde_json::from_slice(&json).ok()))
    }

    /// The number of the document with this id.
    pub fn number(&self, doc_id: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.table(NUMBERS)?.get(doc_id).map_err(redb::Error::from)?.map(|number| number.value()))
    }

    /// The record of a document, without its text.
    pub fn document(&self, number: u64) -> Result<Option<DocumentRecord>, StoreError> {
        match self.table(DOCUMENTS)?.get(number).map_err(redb::Error::from)? {
            Some(bytes) => Ok(Some(postcard::from_bytes(bytes.value())?)),
            None => Ok(None),
        }
    }

    /// The highest number of a document.
    pub fn last_document(&self) -> Result<Option<u64>, StoreError> {
        Ok(self.table(DOCUMENTS)?.last().map_err(redb::Error::from)?.map(|(number, _)| number.value()))
    }

    /// The numbers of all documents, in order of creation.
    pub fn document_numbers(&self) -> Result<Vec<u64>, StoreError> {
        let table = self.table(DOCUMENTS)?;
        let numbers = table.iter().map_err(redb::Error::from)?;
        numbers.map(|entry| Ok(entry.map_err(redb::Error::from)?.0.value())).collect()
    }

    /// The record of the document with this id.
    pub fn document_by_id(&self, doc_id: &str) -> Result<Option<DocumentRecord>, StoreError> {
        match self.number(doc_id)? {
            Some(number) => self.document(number),
            None => Ok(None),
        }
    }

    /// The first `max_characters` of a document's text, and whether the text is longer.
    pub fn text(&self, number: u64, max_characters: usize) -> Result<(String, bool), StoreError> {
        let table = self.table(TEXTS)?;
        let Some(text) = table.get(number).map_err(redb::Error::from)? else { return Ok((String::new(), false)) };
        let text = text.value();
        Ok(match text.char_indices().nth(max_characters) {
            Some((end, _)) => (text[..end].to_owned(), true),
            None => (text.to_owned(), false),
        })
    }

    /// Chunks by row, in the given order.
    pub fn chunks(&self, rows: impl IntoIterator<Item = u64>) -> Result<Vec<ChunkRecord>, StoreError> {
        let table = self.table(CHUNKS)?;
        rows.into_iter()
            .map(|row| match table.get(row).map_err(redb::Error::from)? {
                Some(bytes) => Ok(postcard::from_bytes(bytes.value())?),
                None => Err(StoreError::Damaged(format!("chunk {row} is missing"))),
            })
            .collect()
    }

    /// The pages of chunks by row, in the given order. None for documents that are not split by pages.
    pub fn pages(&self, rows: impl IntoIterator<Item = u64>) -> Result<Vec<Option<u32>>, StoreError> {
        let table = self.later_table(PAGES)?;
        let page = |row: u64| match &table {
            Some(table) => Ok(table.get(row).map_err(redb::Error::from)?.map(|page| page.value())),
            None => Ok(None),
        };
        rows.into_iter().map(page).collect()
    }

    /// The revisions of documents by number, in the given order. None for documents without one.
    pub fn revisions(&self, numbers: impl IntoIterator<Item = u64>) -> Result<Vec<Option<String>>, StoreError> {
        let table = self.later_table(REVISIONS)?;
        let revision = |number: u64| match &table {
            Some(table) => {
                Ok(table.get(number).map_err(redb::Error::from)?.map(|revision| revision.value().to_owned()))
            }
            None => Ok(None),
        };
        numbers.into_iter().map(revision).collect()
    }

    /// The number of transactions that have changed documents since the store was created.
    pub fn changes(&self) -> Result<u64, StoreError> {
        meta(&self.transaction, CHANGE_COUNTER)?.map_or(Ok(0), |bytes| number_of(CHANGE_COUNTER, &bytes))
    }

    /// The last finished synchronisation of each source.
    pub fn syncs(&self) -> Result<Vec<(String, SourceSync)>, StoreError> {
        let Some(table) = self.later_table(SYNCS)? else { return Ok(Vec::new()) };
        let mut syncs = Vec::new();
        for entry in table.iter().map_err(redb::Error::from)? {
            let (source, sync) = entry.map_err(redb::Error::from)?;
            let damaged = |error| StoreError::Damaged(format!("the record of source '{}': {error}", source.value()));
            syncs.push((source.value().to_owned(), serde_json::from_slice(sync.value()).map_err(damaged)?));
        }
        Ok(syncs)
    }

    /// The vector of a row.
    pub fn vector(&self, row: u64) -> Result<Option<Vec<f32>>, StoreError> {
        Ok(self.table(VECTORS)?.get(row).map_err(redb::Error::from)?.map(|bytes| decode(bytes.value())))
    }

    /// The vector of any chunk with the same embedded text.
    pub fn vector_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Vec<f32>>, StoreError> {
        let table = self.table(HASHES)?;
        let mut rows = table.range((hash, 0)..=(hash, u64::MAX)).map_err(redb::Error::from)?;
        match rows.next() {
            Some(entry) => self.vector(entry.map_err(redb::Error::from)?.0.value().1),
            None => Ok(None),
        }
    }

    /// Calls `visit` with every document, in order of creation.
    pub fn each_document(&self, mut visit: impl FnMut(u64, DocumentRecord)) -> Result<(), StoreError> {
        for entry in self.table(DOCUMENTS)?.iter().map_err(redb::Error::from)? {
            let (number, bytes) = entry.map_err(redb::Error::from)?;
            visit(number.value(), postcard::from_bytes(bytes.value())?);
        }
        Ok(())
    }

    /// Calls `visit` with the rows and vectors of these ranges, in order.
    pub fn each_vector<E: From<StoreError>>(
        &self,
        ranges: &[Range<u64>],
        mut visit: impl FnMut(u64, Vec<f32>) -> Result<(), E>,
    ) -> Result<(), E> {
        let table = self.table(VECTORS)?;
        for rows in ranges {
            let entries = table.range(rows.clone()).map_err(|error| StoreError::from(redb::Error::from(error)))?;
            for entry in entries {
                let (row, bytes) = entry.map_err(|error| StoreError::from(redb::Error::from(error)))?;
                visit(row.value(), decode(bytes.value()))?;
            }
        }
        Ok(())
    }

    /// The row that is assigned next. It and all later rows have never been used.
    pub fn next_row(&self) -> Result<u64, StoreError> {
        let bytes = meta(&self.transaction, NEXT_ROW)?;
        bytes.map_or(Ok(0), |bytes| number_of(NEXT_ROW, &bytes))
    }

    pub(super) fn id(&self) -> Result<Option<Uuid>, StoreError> {
        Ok(meta(&self.transaction, "id")?.and_then(|bytes| Uuid::from_slice(&bytes).ok()))
    }

    pub(super) fn table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<ReadOnlyTable<K, V>, StoreError> {
        Ok(self.transaction.open_table(definition).map_err(redb::Error::from)?)
    }

    /// Opens a table that older indexes lack. None if it is missing.
    fn later_table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<Option<ReadOnlyTable<K, V>>, StoreError> {
        match self.transaction.open_table(definition) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(redb::Error::from(error).into()),
        }
    }
}

fn decode(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect()
}

use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::Date;
use ragengine_client::wire::Metadata;
use ragengine_pipeline::ranking::document_day::document_day;
use serde_json::Value;

use super::{Found, Results, TextOutcome};
use crate::record::DocumentRecord;
use crate::store::{Reader, StoreError};
use crate::{Index, IndexError};

/// A chunk that a search found.
#[derive(Debug, Clone)]
pub struct RetrievedChunk {
    /// The place of the chunk in the search.
    pub found: Found,
    /// The chunk's id in the API.
    pub node_id: String,
    /// The id of its document.
    pub doc_id: String,
    /// Its position in the document, from 0.
    pub ordinal: u32,
    /// The headings above it, joined by ` > `.
    pub heading: Option<String>,
    /// Its text.
    pub text: String,
    /// The metadata of its document, with the chunk's `page` if the document is split by pages.
    pub metadata: Arc<Metadata>,
    /// The size of the document's metadata as JSON, in bytes.
    pub metadata_bytes: usize,
}

/// The results of a search, best first. They are read from the index in the state that was searched.
pub struct Candidates {
    /// The results.
    pub results: Results,
    /// The outcome of the search by words.
    pub text: TextOutcome,
    /// What reads their chunks.
    pub chunks: ChunkReader,
}

impl Candidates {
    /// Reads all chunks.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read_all(&self) -> Result<Vec<RetrievedChunk>, IndexError> {
        self.chunks.read(self.results.found())
    }
}

/// Reads the chunks of results, in the state of the index that was searched.
pub struct ChunkReader {
    pub(crate) index: Arc<Index>,
    pub(super) reader: Arc<Reader>,
}

impl ChunkReader {
    /// The ids of chunks in the API, in order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn node_ids(&self, found: &[Found]) -> Result<Vec<String>, IndexError> {
        let chunks = self.reader.chunks(found.iter().map(|found| found.row))?;
        let mut documents = Documents { reader: &self.reader, read: HashMap::new() };
        let mut ids = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let missing = || StoreError::Damaged(format!("document {} is missing", chunk.document));
            let (document, _) = documents.get(chunk.document)?.ok_or_else(missing)?;
            ids.push(self.index.node_id(&document.doc_id, chunk.ordinal, &chunk.hash));
        }
        Ok(ids)
    }

    /// The days of the documents of chunks, in order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn days(&self, found: &[Found]) -> Result<Vec<Option<Date>>, IndexError> {
        let chunks = self.reader.chunks(found.iter().map(|found| found.row))?;
        let mut documents = Documents { reader: &self.reader, read: HashMap::new() };
        let mut days = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let document = documents.get(chunk.document)?;
            days.push(document.and_then(|(document, metadata)| day_of(&metadata, &document.doc_id)));
        }
        Ok(days)
    }

    /// The stored vector of a result.
    ///
    /// # Errors
    ///
    /// If the disk fails, or the vector is missing.
    pub fn vector(&self, found: &Found) -> Result<Vec<f32>, IndexError> {
        let missing = || StoreError::Damaged(format!("the vector of chunk {} is missing", found.row));
        Ok(self.reader.vector(found.row)?.ok_or_else(missing)?)
    }

    /// Reads the chunks of results, in order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read(&self, hits: &[Found]) -> Result<Vec<RetrievedChunk>, IndexError> {
        let chunks = self.reader.chunks(hits.iter().map(|hit| hit.row))?;
        let pages = self.reader.pages(hits.iter().map(|hit| hit.row))?;
        let mut documents = Documents { reader: &self.reader, read: HashMap::new() };
        let mut found = Vec::with_capacity(hits.len());
        for ((hit, chunk), page) in hits.iter().zip(chunks).zip(pages) {
            let missing = || StoreError::Damaged(format!("document {} is missing", chunk.document));
            let (document, metadata) = documents.get(chunk.document)?.ok_or_else(missing)?;
            let metadata = with_page(metadata, page);
            let node_id = self.index.node_id(&document.doc_id, chunk.ordinal, &chunk.hash);
            found.push(RetrievedChunk {
                found: *hit,
                node_id,
                doc_id: document.doc_id.clone(),
                ordinal: chunk.ordinal,
                heading: chunk.heading,
                text: chunk.text,
                metadata,
                metadata_bytes: document.metadata.len(),
            });
        }
        Ok(found)
    }
}

/// The day of a document, from its metadata or its id.
pub fn day_of(metadata: &Metadata, doc_id: &str) -> Option<Date> {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    document_day(text("date"), text("path"), doc_id)
}

/// The metadata of a chunk: its document's, with the chunk's page in place of any `page` of the document.
pub fn with_page(metadata: Arc<Metadata>, page: Option<u32>) -> Arc<Metadata> {
    let Some(page) = page else { return metadata };
    let mut metadata = (*metadata).clone();
    metadata.insert("page".to_owned(), page.into());
    Arc::new(metadata)
}

type SharedDocument = (Arc<DocumentRecord>, Arc<Metadata>);

/// Reads each document once, even if several of its chunks were found.
struct Documents<'a> {
    reader: &'a Reader,
    read: HashMap<u64, Option<SharedDocument>>,
}

impl Documents<'_> {
    fn get(&mut self, number: u64) -> Result<Option<SharedDocument>, StoreError> {
        if let Some(known) = self.read.get(&number) {
            return Ok(known.clone());
        }
        let document = self.reader.document(number)?.map(|document| {
            let metadata = Arc::new(document.metadata());
            (Arc::new(document), metadata)
        });
        self.read.insert(number, document.clone());
        Ok(document)
    }
}

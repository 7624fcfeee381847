use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::Date;
use ragengine_client::wire::Metadata;
use ragengine_pipeline::ranking::document_day::document_day;
use serde_json::Value;

use super::{Found, TextOutcome};
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
    pub(crate) index: Arc<Index>,
    pub(crate) found: Vec<Found>,
    /// The outcome of the search by words.
    pub text: TextOutcome,
    pub(super) reader: Arc<Reader>,
}

impl Candidates {
    /// The number of results.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The squared L2 distances of the results, in order.
    pub fn distances(&self) -> impl Iterator<Item = f32> {
        self.found.iter().map(|found| found.distance)
    }

    /// The results, in order.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Puts the results in another order: the positions in `order`. Others are dropped.
    pub fn reorder(&mut self, order: &[usize]) {
        self.found = order.iter().map(|&position| self.found[position]).collect();
    }

    /// Adds what votes give to the scores of the first results, in order. The order of the results stays.
    pub fn adjust(&mut self, adjustments: &[f32]) {
        for (found, adjustment) in self.found.iter_mut().zip(adjustments) {
            found.adjustment = *adjustment;
            found.score += adjustment;
        }
    }

    /// The ids of the first chunks in the API, in order, and at most `most`.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn first_node_ids(&self, most: usize) -> Result<Vec<String>, IndexError> {
        let chunks = self.reader.chunks(self.found.iter().take(most).map(|found| found.row))?;
        let mut documents = Documents { reader: &self.reader, read: HashMap::new() };
        let mut ids = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let missing = || StoreError::Damaged(format!("document {} is missing", chunk.document));
            let (document, _) = documents.get(chunk.document)?.ok_or_else(missing)?;
            ids.push(self.index.node_id(&document.doc_id, chunk.ordinal, &chunk.hash));
        }
        Ok(ids)
    }

    /// Marks the result at a position as nearly the same as a better one.
    pub fn mark_duplicate(&mut self, position: usize) {
        self.found[position].is_duplicate = true;
    }

    /// Keeps the first `k` results that are no duplicates.
    pub fn keep_unique(&mut self, k: usize) {
        self.found.retain(|found| !found.is_duplicate);
        self.found.truncate(k);
    }

    /// Keeps the first `k` results that are no duplicates, and the duplicates before the last of them.
    pub fn keep_best(&mut self, k: usize) {
        let mut unique = self.found.iter().enumerate().filter(|(_, found)| !found.is_duplicate);
        let end = unique.nth(k).map_or(self.found.len(), |(position, _)| position);
        self.found.truncate(end);
    }

    /// The days of the results' documents, in order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn days(&self) -> Result<Vec<Option<Date>>, IndexError> {
        let chunks = self.reader.chunks(self.found.iter().map(|found| found.row))?;
        let mut documents = Documents { reader: &self.reader, read: HashMap::new() };
        let mut days = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let document = documents.get(chunk.document)?;
            days.push(document.and_then(|(document, metadata)| {
                let text = |key: &str| metadata.get(key).and_then(Value::as_str);
                document_day(text("date"), text("path"), &document.doc_id)
            }));
        }
        Ok(days)
    }

    /// The stored vectors of the first results, in order, and at most `most`.
    ///
    /// # Errors
    ///
    /// If the disk fails, or a vector is missing.
    pub fn first_vectors(&self, most: usize) -> Result<Vec<Vec<f32>>, IndexError> {
        (0..self.found.len().min(most)).map(|position| self.vector(position)).collect()
    }

    /// The stored vector of the result at a position.
    ///
    /// # Errors
    ///
    /// If the disk fails, or the vector is missing.
    pub fn vector(&self, position: usize) -> Result<Vec<f32>, IndexError> {
        let row = self.found[position].row;
        let missing = || StoreError::Damaged(format!("the vector of chunk {row} is missing"));
        Ok(self.reader.vector(row)?.ok_or_else(missing)?)
    }

    /// Reads the chunks at these positions, in the given order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read(&self, positions: impl IntoIterator<Item = usize>) -> Result<Vec<RetrievedChunk>, IndexError> {
        let found: Vec<Found> = positions.into_iter().map(|position| self.found[position]).collect();
        read(&self.index, &found, &self.reader)
    }

    /// Reads all chunks.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read_all(&self) -> Result<Vec<RetrievedChunk>, IndexError> {
        read(&self.index, &self.found, &self.reader)
    }
}

fn read(index: &Index, hits: &[Found], reader: &Reader) -> Result<Vec<RetrievedChunk>, IndexError> {
    let chunks = reader.chunks(hits.iter().map(|hit| hit.row))?;
    let pages = reader.pages(hits.iter().map(|hit| hit.row))?;
    let mut documents = Documents { reader, read: HashMap::new() };
    let mut found = Vec::with_capacity(hits.len());
    for ((hit, chunk), page) in hits.iter().zip(chunks).zip(pages) {
        let missing = || StoreError::Damaged(format!("document {} is missing", chunk.document));
        let (document, metadata) = documents.get(chunk.document)?.ok_or_else(missing)?;
        let metadata = with_page(metadata, page);
        let node_id = index.node_id(&document.doc_id, chunk.ordinal, &chunk.hash);
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

/// The metadata of a chunk: its document's, with the chunk's page in place of any `page` of the document.
fn with_page(metadata: Arc<Metadata>, page: Option<u32>) -> Arc<Metadata> {
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

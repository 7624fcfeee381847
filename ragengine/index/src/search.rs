//! Searching the chunks that are nearest to a query.

mod allowed;
mod pool;

use std::collections::HashMap;
use std::sync::Arc;

use ragengine_client::wire::Metadata;
use ragengine_faiss::SearchOptions;

use super::record::DocumentRecord;
use super::store::{Reader, StoreError};
use super::vectors::{AllowedRows, Hit, VectorSnapshot, least_distances, nearest_first};
use super::view::{Matching, View};
use super::{Index, IndexError};
use ragengine_embedding::Windows;
use ragengine_pipeline::filter::Filter;

pub use allowed::FilterCache;
pub use pool::SearchPool;

/// A search.
#[derive(Debug, Clone)]
pub struct Query {
    /// The vectors of the query, normalised. The nearest one counts for each chunk.
    pub vectors: Windows,
    /// The most chunks to return.
    pub top_k: usize,
    /// The documents that may be returned.
    pub filter: Filter,
}

/// A chunk that a search found.
#[derive(Debug, Clone)]
pub struct RetrievedChunk {
    /// The chunk's id in the API.
    pub node_id: String,
    /// The id of its document.
    pub doc_id: String,
    /// The squared L2 distance from the query, 0 to 4.
    pub distance: f32,
    /// The headings above it, joined by ` > `.
    pub heading: Option<String>,
    /// Its text.
    pub text: String,
    /// The metadata of its document, with the chunk's `page` if the document is split by pages.
    pub metadata: Arc<Metadata>,
    /// The size of the document's metadata as JSON, in bytes.
    pub metadata_bytes: usize,
}

/// The results of a search, nearest first. They are read from the index in the state that was searched.
pub struct Candidates {
    pub(crate) index: Arc<Index>,
    pub(crate) hits: Vec<Hit>,
    reader: Arc<Reader>,
}

impl Candidates {
    /// The number of results.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// The squared L2 distances of the results, in order.
    pub fn distances(&self) -> impl Iterator<Item = f32> {
        self.hits.iter().map(|hit| hit.distance)
    }

    /// Reads the chunks at these positions, in the given order.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read(&self, positions: impl IntoIterator<Item = usize>) -> Result<Vec<RetrievedChunk>, IndexError> {
        let hits: Vec<Hit> = positions.into_iter().map(|position| self.hits[position]).collect();
        read(&self.index, &hits, &self.reader)
    }

    /// Reads all chunks.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub fn read_all(&self) -> Result<Vec<RetrievedChunk>, IndexError> {
        read(&self.index, &self.hits, &self.reader)
    }
}

/// The cosine similarity of normalised vectors, from their squared L2 distance. At most 1.
pub fn similarity(distance: f32) -> f32 {
    (1.0 - distance / 2.0).min(1.0)
}

impl Index {
    /// Searches the nearest chunks. Needs processor time, so call it outside the async runtime.
    ///
    /// # Errors
    ///
    /// If FAISS rejects a vector, or the disk fails.
    pub fn search(self: &Arc<Self>, query: &Query) -> Result<Candidates, IndexError> {
        let (matching, vectors, reader) = {
            let view = self.view.read();
            (self.matching(&view, &query.filter), view.vectors().snapshot(), Arc::clone(view.reader()))
        };
        let allowed = matching.map(|matching| self.allowed(matching, &query.filter, &vectors));
        let options = SearchOptions { ef_search: self.search.ef_search, probes: self.search.n_probe };
        let search = |vector: &[f32]| vectors.search(vector, query.top_k, allowed.as_deref(), options);
        let mut hits = search(query.vectors.first())?;
        if !query.vectors.others().is_empty() {
            let others = query.vectors.others().iter().map(|vector| search(vector)).collect::<Result<Vec<_>, _>>()?;
            hits = least_distances(hits.into_iter().chain(others.into_iter().flatten()), query.top_k);
        }
        if !vectors.has_exact_distances() {
            use_stored_vectors(&mut hits, &query.vectors, &reader)?;
        }
        Ok(Candidates { index: Arc::clone(self), hits, reader })
    }

    /// The documents that match a filter, or their rows if they are kept. None for an empty filter.
    fn matching(&self, view: &View, filter: &Filter) -> Option<Allowed> {
        match self.filters.get(filter, view.changes()) {
            Some(kept) => Some(Allowed::Kept(kept)),
            None => view.matching(filter).map(|documents| Allowed::Of { documents, changes: view.changes() }),
        }
    }

    /// The rows that a filter allows. Call it without the view's lock.
    fn allowed(&self, matching: Allowed, filter: &Filter, vectors: &VectorSnapshot) -> Arc<AllowedRows> {
        match matching {
            Allowed::Kept(rows) => rows,
            Allowed::Of { documents, changes } => {
                let rows = Arc::new(vectors.allowed(&documents.rows()));
                self.filters.put(filter, changes, &rows);
                rows
            }
        }
    }
}

/// What is known of the rows that a filter allows.
enum Allowed {
    /// They are kept from an earlier search.
    Kept(Arc<AllowedRows>),
    /// They must be collected from these documents.
    Of { documents: Matching, changes: u64 },
}

/// Replaces approximate distances by those of the stored vectors, so that a threshold means the same for every kind of
/// index.
fn use_stored_vectors(hits: &mut [Hit], query: &Windows, reader: &Reader) -> Result<(), IndexError> {
    for hit in hits.iter_mut() {
        if let Some(vector) = reader.vector(hit.row)? {
            let other_width =
                || StoreError::Damaged(format!("the vector of chunk {} has {} values", hit.row, vector.len()));
            hit.distance = query.squared_distance(&vector).ok_or_else(other_width)?;
        }
    }
    nearest_first(hits);
    Ok(())
}

fn read(index: &Index, hits: &[Hit], reader: &Reader) -> Result<Vec<RetrievedChunk>, IndexError> {
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
            node_id,
            doc_id: document.doc_id.clone(),
            distance: hit.distance,
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

//! Finding the chunks that are nearest to a question.

mod pool;

use std::collections::HashMap;
use std::sync::Arc;

use ragengine_client::wire::Metadata;
use ragengine_faiss::SearchOptions;

use super::filter::Filter;
use super::record::{ChunkRecord, DocumentRecord};
use super::store::{Reader, StoreError};
use super::vectors::{Hit, least_distances, nearest_first};
use super::{Index, IndexError};
use ragengine_embedding::Windows;

pub use pool::SearchPool;

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Query {
    /// The vectors, of the index's width and of length 1: a chunk is as near as it is to the nearest of them.
    pub vectors: Windows,
    /// How many chunks at most.
    pub top_k: usize,
    /// Which documents may be found.
    pub filter: Filter,
}

/// A chunk that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its id, as the API shows it.
    pub node_id: String,
    /// Its squared L2 distance from what was looked for, 0 to 4.
    pub distance: f32,
    /// The chunk.
    pub chunk: ChunkRecord,
    /// Its document, without the text.
    pub document: Arc<DocumentRecord>,
    /// Its document's metadata, and its own `page` when the document is cut by pages.
    pub metadata: Arc<Metadata>,
}

/// The chunks that may answer a question, the nearest first. None of them has been read; what is read is the index as it was when it was searched.
pub struct Candidates {
    pub(crate) index: Arc<Index>,
    pub(crate) hits: Vec<Hit>,
    reader: Arc<Reader>,
}

impl Candidates {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Their squared L2 distances, in their order.
    pub fn distances(&self) -> impl Iterator<Item = f32> {
        self.hits.iter().map(|hit| hit.distance)
    }

    /// Reads the chunks at these positions, in their order.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn read(&self, positions: impl IntoIterator<Item = usize>) -> Result<Vec<Found>, IndexError> {
        let hits: Vec<Hit> = positions.into_iter().map(|position| self.hits[position]).collect();
        read(&self.index, &hits, &self.reader)
    }

    /// Reads all of them.
    ///
    /// # Errors
    ///
    /// When the disk refuses.
    pub fn read_all(&self) -> Result<Vec<Found>, IndexError> {
        read(&self.index, &self.hits, &self.reader)
    }
}

/// The cosine of normalised vectors from their squared L2 distance, at most 1.
pub fn similarity(distance: f32) -> f32 {
    (1.0 - distance / 2.0).min(1.0)
}

impl Index {
    /// The nearest chunks to a question. It computes: run it apart from the threads that serve requests.
    ///
    /// # Errors
    ///
    /// When FAISS refuses the vector, or the disk refuses.
    pub fn search(self: &Arc<Self>, query: &Query) -> Result<Candidates, IndexError> {
        let (matching, vectors, reader) = {
            let view = self.view.read();
            (view.matching(&query.filter), view.vectors().snapshot(), Arc::clone(view.reader()))
        };
        let allowed = matching.map(|matching| matching.rows());
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
}

/// Replaces the distances of a compressed index by those of the stored vectors, so that a threshold means the same everywhere.
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

fn read(index: &Index, hits: &[Hit], reader: &Reader) -> Result<Vec<Found>, IndexError> {
    let chunks = reader.chunks(hits.iter().map(|hit| hit.row))?;
    let pages = reader.pages(hits.iter().map(|hit| hit.row))?;
    let mut documents = Documents { reader, read: HashMap::new() };
    let mut found = Vec::with_capacity(hits.len());
    for ((hit, chunk), page) in hits.iter().zip(chunks).zip(pages) {
        let missing = || StoreError::Damaged(format!("document {} is missing", chunk.document));
        let (document, metadata) = documents.get(chunk.document)?.ok_or_else(missing)?;
        let metadata = with_page(metadata, page);
        let node_id = index.node_id(&document.doc_id, chunk.ordinal, &chunk.hash);
        found.push(Found { node_id, distance: hit.distance, chunk, document, metadata });
    }
    Ok(found)
}

/// A document's metadata as one of its chunks has it: the chunk's own page says more than what the document says of pages.
fn with_page(metadata: Arc<Metadata>, page: Option<u32>) -> Arc<Metadata> {
    let Some(page) = page else { return metadata };
    let mut metadata = (*metadata).clone();
    metadata.insert("page".to_owned(), page.into());
    Arc::new(metadata)
}

type SharedDocument = (Arc<DocumentRecord>, Arc<Metadata>);

/// Documents that have been read, each once however many of its chunks were found.
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

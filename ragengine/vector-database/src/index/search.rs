//! Searches by vectors and by words. The server combines them as it combines those of FAISS and tantivy.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::try_join_all;
use ragengine_pipeline::filter::Filter;
use uuid::Uuid;

use super::Index;
use crate::VectorDatabaseError;
use crate::document::{self, DocumentRecord};
use crate::filter;
use crate::object::{Found, Order, Search};
use crate::predicate::Predicate;
use crate::property::Property;

/// Weaviate's limit on the results of a search (`QUERY_MAXIMUM_RESULTS`).
const MAX_RESULTS: usize = 10_000;

/// How often a search is made that found chunks of documents that changed meanwhile. The last one shows what it has.
const MAX_SEARCHES: u32 = 5;

/// The properties of a hit.
const HIT_PROPERTIES: &[Property] = &[
    Property::DOCUMENT,
    Property::GENERATION,
    Property::ORDINAL,
    Property::HEADING,
    Property::PAGE,
    Property::TEXT,
    Property::HASH,
];

/// A search by vectors.
#[derive(Debug, Clone, Copy)]
pub struct DenseSearch<'a> {
    /// The vectors of the query, of length 1. The nearest one counts for each chunk.
    pub vectors: &'a [Vec<f32>],
    /// The most chunks to find.
    pub top_k: usize,
    /// The documents that may be found.
    pub filter: &'a Filter,
    /// Whether the vectors of the chunks are read.
    pub has_vectors: bool,
}

/// A search by words.
#[derive(Debug, Clone, Copy)]
pub struct WordSearch<'a> {
    /// The words as chunks have them, with spaces between them.
    pub terms: &'a str,
    /// The most chunks to find.
    pub top_k: usize,
    /// The documents that may be found.
    pub filter: &'a Filter,
    /// Whether the vectors of the chunks are read.
    pub has_vectors: bool,
}

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The id of its object. Another write of the document has others.
    pub id: Uuid,
    /// Its document.
    pub document: Arc<DocumentRecord>,
    /// Its position in the document, from 0.
    pub ordinal: u32,
    /// The headings above it, joined by ` > `.
    pub heading: Option<String>,
    /// Its page, from 1.
    pub page: Option<u32>,
    /// Its text.
    pub text: String,
    /// The hash of its embedded text, in hexadecimal digits.
    pub hash: String,
    /// The squared L2 distance from the nearest vector of the query, 0 to 4, in a search by vectors.
    pub distance: Option<f32>,
    /// The BM25 score, in a search by words.
    pub bm25: Option<f32>,
    /// The vector, if it was asked for.
    pub vector: Vec<f32>,
}

/// What is looked for.
struct Looking<'a> {
    predicate: Predicate,
    by: By<'a>,
    has_vectors: bool,
}

enum By<'a> {
    Vectors(&'a [Vec<f32>]),
    Words(&'a str),
}

impl Index {
    /// Finds the nearest chunks, nearest first.
    ///
    /// # Errors
    ///
    /// If the filter cannot be evaluated, a vector is not sound, or the vector database fails.
    pub async fn nearest(&self, search: &DenseSearch<'_>) -> Result<Vec<Hit>, VectorDatabaseError> {
        let predicate = filter::predicate(search.filter, self.database.comparisons())?;
        let looking = Looking { predicate, by: By::Vectors(search.vectors), has_vectors: search.has_vectors };
        self.current(search.top_k, &looking).await
    }

    /// Finds the chunks with the best BM25 scores, best first. Each has at least one of the words.
    ///
    /// # Errors
    ///
    /// If the filter cannot be evaluated, or the vector database fails.
    pub async fn by_words(&self, search: &WordSearch<'_>) -> Result<Vec<Hit>, VectorDatabaseError> {
        if search.terms.trim().is_empty() {
            return Ok(Vec::new());
        }
        let predicate = filter::predicate(search.filter, self.database.comparisons())?;
        let looking = Looking { predicate, by: By::Words(search.terms), has_vectors: search.has_vectors };
        self.current(search.top_k, &looking).await
    }

    /// The BM25 scores of these chunks. Those without any of the words are missing.
    ///
    /// # Errors
    ///
    /// If the vector database fails.
    pub async fn scores(&self, terms: &str, ids: &[Uuid]) -> Result<HashMap<Uuid, f32>, VectorDatabaseError> {
        if terms.trim().is_empty() {
            return Ok(HashMap::new());
        }
        let predicate = Predicate::is_in(Property::ID, ids.iter().map(Uuid::to_string).collect());
        let found = self.find(&predicate, Order::Words(Property::TERMS, terms), ids.len(), false).await?;
        Ok(found.into_iter().filter_map(|found| Some((found.id, found.bm25?))).collect())
    }

    async fn find(
        &self,
        predicate: &Predicate,
        order: Order<'_>,
        limit: usize,
        has_vectors: bool,
    ) -> Result<Vec<Found>, VectorDatabaseError> {
        let search = Search {
            collection: &self.collections.chunks,
            predicate,
            order,
            limit,
            properties: HIT_PROPERTIES,
            has_vectors,
        };
        self.database.search(&search).await
    }

    /// The first chunks in the order that is looked for, whether they are shown or not.
    async fn first_chunks(&self, looking: &Looking<'_>, limit: usize) -> Result<Vec<Found>, VectorDatabaseError> {
        let Looking { predicate, by, has_vectors } = looking;
        match by {
            By::Words(terms) => self.find(predicate, Order::Words(Property::TERMS, terms), limit, *has_vectors).await,
            By::Vectors(vectors) => {
                let mut searches = Vec::with_capacity(vectors.len());
                for vector in *vectors {
                    searches.push(self.find(predicate, Order::Nearest(vector), limit, *has_vectors));
                }
                Ok(least_distances(try_join_all(searches).await?.into_iter().flatten(), limit))
            }
        }
    }

    /// The first `top_k` chunks that are those of their documents. It looks again for more if some are not; and also
    /// because their documents may have been replaced after it looked, so that it missed the new chunks.
    async fn current(&self, top_k: usize, looking: &Looking<'_>) -> Result<Vec<Hit>, VectorDatabaseError> {
        let mut known_as_stale = HashSet::new();
        let mut limit = top_k.min(MAX_RESULTS);
        let mut searches = 1;
        loop {
            let found = self.first_chunks(looking, limit).await?;
            let is_everything = found.len() < limit;
            let (mut hits, stale) = self.with_documents(found).await?;
            let is_known = stale.is_subset(&known_as_stale);
            let is_enough = hits.len() >= top_k || is_everything || limit == MAX_RESULTS;
            if is_known && is_enough || searches == MAX_SEARCHES {
                hits.truncate(top_k);
                return Ok(hits);
            }
            searches += 1;
            known_as_stale.extend(stale);
            limit = (top_k + 2 * known_as_stale.len()).min(MAX_RESULTS);
        }
    }

    /// The chunks that are those of their documents, and the ids of the others.
    async fn with_documents(&self, found: Vec<Found>) -> Result<(Vec<Hit>, HashSet<Uuid>), VectorDatabaseError> {
        let (found, partial): (Vec<Found>, Vec<Found>) =
            found.into_iter().partition(|chunk| chunk.is_whole(HIT_PROPERTIES));
        let mut documents: BTreeMap<Uuid, Option<Arc<DocumentRecord>>> = BTreeMap::new();
        for chunk in &found {
            documents.insert(document_of(chunk)?, None);
        }
        let ids: Vec<Uuid> = documents.keys().copied().collect();
        for record in self.records_of(&ids).await?.into_iter().flatten() {
            documents.insert(record.id, Some(Arc::new(record)));
        }
        let mut hits = Vec::new();
        let mut stale: HashSet<Uuid> = partial.into_iter().map(|chunk| chunk.id).collect();
        for chunk in found {
            let generation = document::text(&chunk.properties, Property::GENERATION)?;
            let record = documents.get(&document_of(&chunk)?).cloned().flatten();
            match record.filter(|record| record.generation.as_str() == generation) {
                Some(record) => hits.push(hit(chunk, record)?),
                None => drop(stale.insert(chunk.id)),
            }
        }
        Ok((hits, stale))
    }
}

fn document_of(chunk: &Found) -> Result<Uuid, VectorDatabaseError> {
    let id = document::text(&chunk.properties, Property::DOCUMENT)?;
    id.parse().map_err(|_| VectorDatabaseError::Reply("the document of a chunk is no UUID".to_owned()))
}

fn hit(chunk: Found, document: Arc<DocumentRecord>) -> Result<Hit, VectorDatabaseError> {
    let Found { id, properties, distance, bm25, vector } = chunk;
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Hit {
        id,
        document,
        ordinal: small(document::number(&properties, Property::ORDINAL)?),
        heading: document::optional_text(&properties, Property::HEADING).map(str::to_owned),
        page: document::optional_number(&properties, Property::PAGE).map(small),
        text: document::text(&properties, Property::TEXT)?.to_owned(),
        hash: document::text(&properties, Property::HASH)?.to_owned(),
        // Rounding makes some distances of equal vectors less than 0.
        distance: distance.map(|distance| distance.max(0.0)),
        bm25,
        vector,
    })
}

/// The nearest of these, each with the least of its distances.
fn least_distances(found: impl Iterator<Item = Found>, limit: usize) -> Vec<Found> {
    let mut nearest: HashMap<Uuid, Found> = HashMap::new();
    let distance = |found: &Found| found.distance.unwrap_or(f32::INFINITY);
    for each in found {
        match nearest.get(&each.id) {
            Some(known) if distance(known) <= distance(&each) => {}
            _ => drop(nearest.insert(each.id, each)),
        }
    }
    let mut nearest: Vec<Found> = nearest.into_values().collect();
    nearest.sort_by(|left, right| distance(left).total_cmp(&distance(right)).then(left.id.cmp(&right.id)));
    nearest.truncate(limit);
    nearest
}

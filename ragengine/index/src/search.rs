//! Searching the chunks that are nearest to a query.

mod allowed;
mod candidates;
mod evidence;
mod found;
mod pool;
mod results;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ragengine_faiss::SearchOptions;

use super::full_text::{FullTextError, TextHits, TextSet};
use super::store::Reader;
use super::vectors::{AllowedRows, VectorSnapshot, least_distances, nearest_first};
use super::view::{Matching, View};
use super::{Index, IndexError};
use ragengine_embedding::Windows;
use ragengine_pipeline::filter::Filter;
use ragengine_pipeline::ranking::fusion::Weights;

use found::Distances;

pub use super::full_text::{KnownWords, MAX_TERMS, TextHit, idf};
pub use super::vectors::Hit;
pub use allowed::FilterCache;
pub use candidates::{Candidates, ChunkReader, RetrievedChunk, day_of, with_page};
pub use evidence::{BackgroundDistances, COMPARED, Distribution, MIN_CHUNKS, Observed, SAMPLED_VECTORS};
pub use found::{Both, Found, Origin, fused};
pub use pool::SearchPool;
pub use results::Results;

/// A search.
#[derive(Debug, Clone)]
pub struct Query {
    /// The vectors of the query, normalised. The nearest one counts for each chunk.
    pub vectors: Windows,
    /// The most chunks to return.
    pub top_k: usize,
    /// The documents that may be returned.
    pub filter: Filter,
    /// The search by words. None: only vectors are searched.
    pub by_words: Option<ByWords>,
}

impl Query {
    /// A search by vectors only.
    pub fn dense(vectors: impl Into<Windows>, top_k: usize, filter: Filter) -> Self {
        Self { vectors: vectors.into(), top_k, filter, by_words: None }
    }
}

/// A search by words, beside or instead of vectors.
#[derive(Debug, Clone)]
pub struct ByWords {
    /// The text whose words are searched for.
    pub text: Arc<str>,
    /// How it is combined with the vectors.
    pub fusion: Fusion,
    /// The chunks that each search looks at.
    pub candidates: usize,
}

/// How the searches by vectors and by words are combined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fusion {
    /// Only chunks that have a word of the query, by their BM25 score.
    TextOnly,
    /// By the weighted sum of similarity and BM25 score.
    Weighted(Weights),
    /// By reciprocal rank fusion.
    ReciprocalRank,
}

/// The outcome of the search by words.
#[derive(Debug)]
pub enum TextOutcome {
    /// It was not asked for.
    Off,
    /// It was made.
    Done,
    /// It failed, and the result is that of the vectors.
    Failed(FullTextError),
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
        let analysed = query.by_words.as_ref().map(|_| self.analyse_for_search());
        let (state, allowed) = self.state(query, query.by_words.is_some());
        let is_allowed = |row: u64| allowed.as_ref().is_none_or(|allowed| state.vectors.contains(allowed, row));
        let by_words = match (&query.by_words, &state.text, analysed) {
            (Some(by_words), Some(text), Some(Ok(()))) => {
                self.search_text(text, &by_words.text, by_words.candidates, &is_allowed).map(Some)
            }
            (_, _, Some(Err(error))) => Err(error),
            _ => Ok(None),
        };
        let by_vectors = |k: usize| self.nearest(query, k, &state, allowed.as_deref());
        let combined = match (by_words, &query.by_words, &state.text) {
            (Ok(Some(hits)), Some(by_words), Some(text)) => {
                let nearest = match by_words.fusion {
                    Fusion::TextOnly => Vec::new(),
                    _ => by_vectors(by_words.candidates)?,
                };
                let scores = self.scores_of_others(text, by_words, &nearest, &hits);
                scores.map(|scores| Some((by_words.fusion, Both { nearest, by_words: hits.hits, scores })))
            }
            (by_words, ..) => by_words.map(|_| None),
        };
        let distances = Distances { query: &query.vectors, reader: &state.reader };
        let (found, text) = match combined {
            Ok(Some((fusion, both))) => (fused(fusion, both, |row| distances.of(row), query.top_k)?, TextOutcome::Done),
            not_combined => (
                by_vectors(query.top_k)?.into_iter().map(Found::from).collect(),
                not_combined.err().map_or(TextOutcome::Off, TextOutcome::Failed),
            ),
        };
        let chunks = ChunkReader { index: Arc::clone(self), reader: state.reader };
        Ok(Candidates { results: Results::from(found), text, chunks })
    }

    /// The BM25 scores of the nearest chunks that are not among the best by words, where scores are added. Without
    /// them, a chunk would lose what its words are worth because others have better ones.
    fn scores_of_others(
        &self,
        text: &TextSet,
        by_words: &ByWords,
        nearest: &[Hit],
        found: &TextHits,
    ) -> Result<HashMap<u64, f32>, FullTextError> {
        if !matches!(by_words.fusion, Fusion::Weighted(_)) {
            return Ok(HashMap::new());
        }
        let known: HashSet<u64> = found.hits.iter().map(|hit| hit.row).collect();
        let others: Vec<u64> = nearest.iter().map(|hit| hit.row).filter(|row| !known.contains(row)).collect();
        self.score_text(text, &by_words.text, &others)
    }

    /// The state to search, and the rows that the filter allows.
    fn state(&self, query: &Query, by_words: bool) -> (State, Option<Arc<AllowedRows>>) {
        let (matching, state) = {
            let view = self.view.read();
            let text = by_words.then(|| view.text().clone());
            let state = State { vectors: view.vectors().snapshot(), text, reader: Arc::clone(view.reader()) };
            (self.matching(&view, &query.filter), state)
        };
        let allowed = matching.map(|matching| self.allowed(matching, &query.filter, &state.vectors));
        (state, allowed)
    }

    /// The `k` chunks with the nearest vectors.
    fn nearest(
        &self,
        query: &Query,
        k: usize,
        state: &State,
        allowed: Option<&AllowedRows>,
    ) -> Result<Vec<Hit>, IndexError> {
        let options = SearchOptions { ef_search: self.search.ef_search, probes: self.search.n_probe };
        let search = |vector: &[f32]| state.vectors.search(vector, k, allowed, options);
        let mut hits = search(query.vectors.first())?;
        if !query.vectors.others().is_empty() {
            let others = query.vectors.others().iter().map(|vector| search(vector)).collect::<Result<Vec<_>, _>>()?;
            hits = least_distances(hits.into_iter().chain(others.into_iter().flatten()), k);
        }
        if !state.vectors.has_exact_distances() {
            let distances = Distances { query: &query.vectors, reader: &state.reader };
            for hit in &mut hits {
                hit.distance = distances.of(hit.row)?.unwrap_or(hit.distance);
            }
            nearest_first(&mut hits);
        }
        Ok(hits)
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

/// The state that is searched.
struct State {
    vectors: VectorSnapshot,
    /// Only for a search by words.
    text: Option<TextSet>,
    reader: Arc<Reader>,
}

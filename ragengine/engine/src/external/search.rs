use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ragengine_embedding::Windows;
use ragengine_index::search::{Both, ByWords, Found, Fusion, Hit as Near, Query, Results, TextHit, TextOutcome, fused};
use ragengine_index::{IndexError, QueryWord};
use ragengine_pipeline::filter::Filter;
use ragengine_vector_database::{DenseSearch, Hit, WordSearch};
use uuid::Uuid;

use super::ExternalIndex;
use super::chunks::FoundChunks;
use super::fault::of_engine;
use super::words::searched_terms;
use crate::Candidates;

/// What both searches found, with a number for each chunk.
pub(super) struct Searched {
    /// The chunks, by their numbers.
    pub hits: Vec<Hit>,
    /// The results of both.
    pub both: Both,
    /// The vectors of chunks that only have the words.
    pub vectors: HashMap<Uuid, Vec<f32>>,
}

/// A search in the vector database.
pub(super) struct Search<'a> {
    pub vectors: &'a Windows,
    pub filter: &'a Filter,
    /// The most chunks by vectors, or none.
    pub nearest: usize,
    /// The words and the most chunks by them.
    pub by_words: Option<(&'a str, usize)>,
    /// Whether the BM25 scores of the nearest chunks count.
    pub adds_scores: bool,
}

impl ExternalIndex {
    /// Searches.
    ///
    /// # Errors
    ///
    /// If a vector or the filter cannot be used, or the vector database fails.
    pub async fn search(self: &Arc<Self>, query: &Query) -> Result<Candidates, IndexError> {
        let search = match &query.by_words {
            None => Search::by_vectors(query),
            Some(by_words) => Search::by_both(query, by_words),
        };
        let Searched { hits, both, vectors } = self.searched(search).await?;
        let distance = |row| self.distance(&query.vectors, &hits, &vectors, row);
        let (found, text) = match &query.by_words {
            None => (both.nearest.into_iter().map(Found::from).collect(), TextOutcome::Off),
            Some(by_words) => (fused(by_words.fusion, both, distance, query.top_k)?, TextOutcome::Done),
        };
        let chunks = FoundChunks::new(Arc::clone(self), hits, vectors);
        Ok(Candidates::external(Results::from(found), text, chunks))
    }

    /// The distance of a chunk that only has the words.
    pub(super) fn distance(
        &self,
        query: &Windows,
        hits: &[Hit],
        vectors: &HashMap<Uuid, Vec<f32>>,
        row: u64,
    ) -> Result<Option<f32>, IndexError> {
        let hit = usize::try_from(row).ok().and_then(|row| hits.get(row));
        let Some(vector) = hit.and_then(|hit| vectors.get(&hit.id)) else { return Ok(None) };
        let other_width = || IndexError::OtherVectors(format!("{} values, unlike the index", vector.len()));
        Ok(Some(query.squared_distance(vector).ok_or_else(other_width)?))
    }

    /// The words of a question. Those of a long one are found outside of the async runtime.
    pub(super) async fn words(&self, text: &str) -> Result<BTreeSet<QueryWord>, IndexError> {
        let (mut analyzer, text) = (self.analyzer.clone(), text.to_owned());
        ragengine_compute::run(text.len(), move |_| Ok::<_, IndexError>(analyzer.words_of_query(&text))).await
    }

    /// Makes both searches at the same time.
    pub(super) async fn searched(&self, search: Search<'_>) -> Result<Searched, IndexError> {
        let words = match search.by_words {
            Some((text, _)) => self.words(text).await?,
            None => BTreeSet::new(),
        };
        let terms = if words.is_empty() { String::new() } else { searched_terms(&self.engine, &words).await? };
        let vectors: Vec<Vec<f32>> = search.vectors.iter().map(<[f32]>::to_vec).collect();
        let dense = DenseSearch { vectors: &vectors, top_k: search.nearest, filter: search.filter, has_vectors: false };
        let top_k = search.by_words.map_or(0, |(_, most)| most);
        let by_words = WordSearch { terms: &terms, top_k, filter: search.filter, has_vectors: false };
        let nearest = async { if dense.top_k == 0 { Ok(Vec::new()) } else { self.engine.nearest(&dense).await } };
        let by_words = async { if top_k == 0 { Ok(Vec::new()) } else { self.engine.by_words(&by_words).await } };
        let (nearest, by_words) = tokio::try_join!(nearest, by_words).map_err(of_engine)?;
        self.numbered(nearest, by_words, (search.adds_scores, &terms)).await
    }

    /// Numbers the chunks, and reads what one search has of the chunks of the other.
    async fn numbered(
        &self,
        nearest: Vec<Hit>,
        by_words: Vec<Hit>,
        (adds_scores, terms): (bool, &str),
    ) -> Result<Searched, IndexError> {
        let is_of = |hits: &[Hit], id: Uuid| hits.iter().any(|hit| hit.id == id);
        let without_words: Vec<Uuid> =
            nearest.iter().map(|hit| hit.id).filter(|id| adds_scores && !is_of(&by_words, *id)).collect();
        let without_distance: Vec<Uuid> =
            by_words.iter().map(|hit| hit.id).filter(|id| !is_of(&nearest, *id)).collect();
        let scores = async {
            if without_words.is_empty() { Ok(HashMap::new()) } else { self.engine.scores(terms, &without_words).await }
        };
        let (scores, vectors) = tokio::try_join!(scores, self.engine.vectors(&without_distance)).map_err(of_engine)?;
        let mut both = Both::default();
        let mut hits: Vec<Hit> = Vec::with_capacity(nearest.len() + by_words.len());
        let mut rows: HashMap<Uuid, u64> = HashMap::new();
        let mut row_of = |hit: Hit| {
            let next = rows.len() as u64;
            let row = *rows.entry(hit.id).or_insert(next);
            if row == next {
                hits.push(hit);
            }
            row
        };
        for hit in nearest {
            let (id, distance) = (hit.id, hit.distance.unwrap_or(f32::INFINITY));
            let row = row_of(hit);
            both.nearest.push(Near { row, distance });
            both.scores.extend(scores.get(&id).map(|bm25| (row, *bm25)));
        }
        for hit in by_words {
            let bm25 = hit.bm25.unwrap_or_default();
            both.by_words.push(TextHit { row: row_of(hit), bm25 });
        }
        Ok(Searched { hits, both, vectors })
    }
}

impl<'a> Search<'a> {
    fn by_vectors(query: &'a Query) -> Self {
        let (vectors, filter) = (&query.vectors, &query.filter);
        Self { vectors, filter, nearest: query.top_k, by_words: None, adds_scores: false }
    }

    fn by_both(query: &'a Query, by_words: &'a ByWords) -> Self {
        Self {
            vectors: &query.vectors,
            filter: &query.filter,
            nearest: if by_words.fusion == Fusion::TextOnly { 0 } else { by_words.candidates },
            by_words: Some((&by_words.text, by_words.candidates)),
            adds_scores: matches!(by_words.fusion, Fusion::Weighted(_)),
        }
    }
}

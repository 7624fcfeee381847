use std::collections::HashMap;

use ragengine_embedding::Windows;
use ragengine_pipeline::ranking::Ranked;
use ragengine_pipeline::ranking::fusion::{Candidate, Weights, hybrid, reciprocal_rank};

use super::{Fusion, similarity};
use crate::IndexError;
use crate::full_text::TextHit;
use crate::store::{Reader, StoreError};
use crate::vectors::Hit;

/// How a chunk was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// By its vector only.
    Vector,
    /// By its words only.
    Words,
    /// By both.
    Both,
}

/// A chunk in the result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The chunk's row.
    pub row: u64,
    /// The squared L2 distance of its stored vector from the query, 0 to 4.
    pub distance: f32,
    /// What the order is made from; higher is better. The similarity, if only vectors were searched.
    pub score: f32,
    /// Its BM25 score, if it has words of the query and scores count.
    pub bm25: Option<f32>,
    /// How it was found.
    pub origin: Origin,
    /// What votes added to the score, -0.15 to 0.10.
    pub adjustment: f32,
    /// Whether it is nearly the same as a better one.
    pub is_duplicate: bool,
}

impl From<Hit> for Found {
    fn from(hit: Hit) -> Self {
        let Hit { row, distance } = hit;
        let score = similarity(distance);
        Self { row, distance, score, bm25: None, origin: Origin::Vector, adjustment: 0.0, is_duplicate: false }
    }
}

/// The distances of stored vectors from a query. So a threshold means the same for every kind of index.
pub(super) struct Distances<'a> {
    pub(super) query: &'a Windows,
    pub(super) reader: &'a Reader,
}

impl Distances<'_> {
    /// The distance of a row. None if it has no vector.
    pub(super) fn of(&self, row: u64) -> Result<Option<f32>, IndexError> {
        let Some(vector) = self.reader.vector(row)? else { return Ok(None) };
        let other_width = || StoreError::Damaged(format!("the vector of chunk {row} has {} values", vector.len()));
        Ok(Some(self.query.squared_distance(&vector).ok_or_else(other_width)?))
    }
}

/// The results of both searches.
#[derive(Debug, Default)]
pub struct Both {
    /// The nearest chunks.
    pub nearest: Vec<Hit>,
    /// The best chunks by words.
    pub by_words: Vec<TextHit>,
    /// The BM25 scores of other rows.
    pub scores: HashMap<u64, f32>,
}

/// Combines the results of both searches, and returns the `k` best. `distance_of` is the distance of a row's vector from
/// the query, and none if it has no vector.
///
/// # Errors
///
/// Those of `distance_of`.
pub fn fused<E>(
    fusion: Fusion,
    both: Both,
    distance_of: impl Fn(u64) -> Result<Option<f32>, E>,
    k: usize,
) -> Result<Vec<Found>, E> {
    let Both { nearest, by_words, scores } = both;
    let by_vector = |hit: Hit| (hit.row, Found { bm25: scores.get(&hit.row).copied(), ..Found::from(hit) });
    let mut found: HashMap<u64, Found> = nearest.into_iter().map(by_vector).collect();
    for TextHit { row, bm25 } in by_words {
        if let Some(known) = found.get_mut(&row) {
            (known.bm25, known.origin) = (Some(bm25), Origin::Both);
        } else if let Some(distance) = distance_of(row)? {
            let hit = Found::from(Hit { row, distance });
            found.insert(row, Found { bm25: Some(bm25), origin: Origin::Words, ..hit });
        }
    }
    let ranked = ranked(fusion, found.values());
    let with_score = |Ranked { id, score }: Ranked<u64>| found.get(&id).map(|found| Found { score, ..*found });
    Ok(ranked.into_iter().filter_map(with_score).take(k).collect())
}

fn ranked<'a>(fusion: Fusion, found: impl Iterator<Item = &'a Found>) -> Vec<Ranked<u64>> {
    let candidates: Vec<Candidate<u64>> = found
        .map(|found| {
            // Reciprocal ranks count only for the search that found the chunk.
            let is_ranked = fusion != Fusion::ReciprocalRank || found.origin != Origin::Words;
            let similarity = is_ranked.then(|| similarity(found.distance));
            Candidate { id: found.row, similarity, bm25: found.bm25 }
        })
        .collect();
    match fusion {
        Fusion::TextOnly => hybrid(&candidates, Weights { dense: 0.0, text: 1.0 }),
        Fusion::Weighted(weights) => hybrid(&candidates, weights),
        Fusion::ReciprocalRank => reciprocal_rank(&candidates),
    }
}

//! One score from two searches: by vectors and by words.

use super::{Ranked, best_first};

/// The rank constant of reciprocal rank fusion: higher means that first places count less.
const RANK_CONSTANT: f64 = 60.0;

/// The number of searches.
const SEARCHES: f64 = 2.0;

/// A chunk that one of the searches found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<K> {
    /// The chunk.
    pub id: K,
    /// Its similarity to the question, from its stored vector.
    pub similarity: Option<f32>,
    /// Its BM25 score, if the full-text search found it.
    pub bm25: Option<f32>,
}

/// The weights of the two searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The weight of the similarity.
    pub dense: f32,
    /// The weight of the BM25 score.
    pub text: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { dense: 0.7, text: 0.3 }
    }
}

/// The chunks by the sum of their weighted similarity and their weighted part of the best BM25 score. A similarity
/// below 0 counts as 0. With a weight of 0, the search does not count.
pub fn hybrid<K: Copy + Ord>(candidates: &[Candidate<K>], weights: Weights) -> Vec<Ranked<K>> {
    let best_bm25 = candidates.iter().map(|candidate| positive(candidate.bm25)).fold(0.0, f32::max);
    let part_of_best = |bm25| if best_bm25 > 0.0 { positive(bm25) / best_bm25 } else { 0.0 };
    let score = |candidate: &Candidate<K>| {
        weights.dense * positive(candidate.similarity) + weights.text * part_of_best(candidate.bm25)
    };
    let mut ranked: Vec<_> =
        candidates.iter().map(|candidate| Ranked { id: candidate.id, score: score(candidate) }).collect();
    best_first(&mut ranked);
    ranked
}

/// The chunks by reciprocal rank fusion: each search gives 1 / (60 + rank). The sum is divided by its largest value,
/// 2 / 61. So the score of a chunk that is first in both searches is 1.
///
/// Every chunk with a similarity has a rank by vectors. So for a chunk that only the full-text search found,
/// `similarity` is None.
pub fn reciprocal_rank<K: Copy + Ord>(candidates: &[Candidate<K>]) -> Vec<Ranked<K>> {
    let mut sums = vec![0.0; candidates.len()];
    add_reciprocal_ranks(&mut sums, candidates, |candidate| candidate.similarity);
    add_reciprocal_ranks(&mut sums, candidates, |candidate| candidate.bm25);
    let largest = SEARCHES / (RANK_CONSTANT + 1.0);
    let scores = candidates.iter().zip(sums);
    #[expect(clippy::cast_possible_truncation, reason = "a score needs no more digits than a similarity has")]
    let mut ranked: Vec<_> =
        scores.map(|(candidate, sum)| Ranked { id: candidate.id, score: (sum / largest) as f32 }).collect();
    best_first(&mut ranked);
    ranked
}

/// Adds what a search gives to each candidate that has a value.
fn add_reciprocal_ranks<K: Copy + Ord>(
    sums: &mut [f64],
    candidates: &[Candidate<K>],
    value: impl Fn(&Candidate<K>) -> Option<f32>,
) {
    let found = candidates.iter().enumerate().filter_map(|(position, candidate)| {
        let score = value(candidate).filter(|value| value.is_finite())?;
        Some(Ranked { id: (candidate.id, position), score })
    });
    let mut found: Vec<_> = found.collect();
    best_first(&mut found);
    let mut divisor = RANK_CONSTANT;
    for Ranked { id: (_, position), .. } in found {
        divisor += 1.0;
        sums[position] += 1.0 / divisor;
    }
}

fn positive(value: Option<f32>) -> f32 {
    value.filter(|value| value.is_finite()).unwrap_or_default().max(0.0)
}

#[cfg(test)]
mod tests;

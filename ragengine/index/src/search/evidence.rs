use std::sync::Arc;

use parking_lot::Mutex;
use ragengine_embedding::has_document_names;
use ragengine_pipeline::ranking::answerable::{self, Evidence};
use ragengine_pipeline::ranking::fusion::Weights;

use super::found::{Both, Distances, fused};
use super::{Fusion, Query, State};
use crate::full_text::{KnownWords, TextHits};
use crate::store::{Reader, StoreError};
use crate::{Index, IndexError};

/// The chunks that each search looks at.
pub const COMPARED: usize = 10;

/// The fewest chunks of an index whose evidence says anything.
pub const MIN_CHUNKS: usize = if cfg!(test) { 2 } else { answerable::MIN_CHUNKS };

/// Vectors of which pairs are made, for the background.
pub const SAMPLED_VECTORS: usize = 512;

/// The fewest pairs whose distances say how near chunks are by chance.
const MIN_PAIRS: usize = 20;

/// The distances of random pairs of chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    pairs: usize,
    mean: f32,
    deviation: f32,
}

/// The distances of random pairs of an index's chunks, computed when they are first needed and when the number of
/// chunks has doubled or halved. That takes a few milliseconds.
#[derive(Default)]
pub struct BackgroundDistances(Mutex<Option<(usize, Distribution)>>);

impl BackgroundDistances {
    /// The distances, if they are known for about this number of chunks.
    pub fn known(&self, chunks: usize) -> Option<Distribution> {
        current(*self.0.lock(), chunks)
    }

    /// Keeps the distances of a sample of vectors.
    pub fn keep(&self, chunks: usize, vectors: &[Vec<f32>]) -> Distribution {
        let distribution = Distribution::of(vectors);
        // A sample of equal chunks says nothing, also about the chunks that replace them.
        if distribution.is_known() {
            *self.0.lock() = Some((chunks, distribution));
        }
        distribution
    }

    fn get(&self, chunks: usize, state: &State) -> Result<Distribution, StoreError> {
        // Held, so that questions at the same time do not all take a sample.
        let mut known = self.0.lock();
        if let Some(distribution) = current(*known, chunks) {
            return Ok(distribution);
        }
        let rows: Vec<u64> = state.vectors.rows().collect();
        let distribution = Distribution::of(&sample(&rows, &state.reader)?);
        if distribution.is_known() {
            *known = Some((chunks, distribution));
        }
        Ok(distribution)
    }
}

fn current(known: Option<(usize, Distribution)>, chunks: usize) -> Option<Distribution> {
    let (then, distribution) = known?;
    (then / 2..=then.saturating_mul(2)).contains(&chunks).then_some(distribution)
}

impl Distribution {
    /// Of the pairs of neighbours in the sample.
    fn of(vectors: &[Vec<f32>]) -> Self {
        let distance =
            |pair: &[Vec<f32>]| pair[0].iter().zip(&pair[1]).map(|(left, right)| (left - right).powi(2)).sum::<f32>();
        // A row may be in the sample twice.
        let distances: Vec<f32> = vectors.windows(2).map(distance).filter(|distance| *distance > 0.0).collect();
        let pairs = distances.len();
        #[expect(clippy::cast_precision_loss, reason = "a sample is small")]
        let count = (pairs as f32).max(1.0);
        let mean = distances.iter().sum::<f32>() / count;
        let variance = distances.iter().map(|distance| (distance - mean).powi(2)).sum::<f32>() / count;
        Self { pairs, mean, deviation: variance.sqrt() }
    }

    /// Whether there are enough pairs. There are few if nearly all chunks have the same vector.
    fn is_known(self) -> bool {
        self.pairs >= MIN_PAIRS
    }
}

/// The vectors of random ones of these rows. The same for the same store.
///
/// They are drawn from the rows that exist. Rows are never reused, so after many replacements, few of all the numbers
/// below the next row have a vector.
fn sample(rows: &[u64], reader: &Reader) -> Result<Vec<Vec<f32>>, StoreError> {
    let mut vectors = Vec::new();
    if rows.is_empty() {
        return Ok(vectors);
    }
    let mut random = fastrand::Rng::with_seed(reader.next_row()?);
    for _ in 0..SAMPLED_VECTORS {
        vectors.extend(reader.vector(rows[random.usize(0..rows.len())])?);
    }
    Ok(vectors)
}

impl Index {
    /// What both searches tell about whether the index can answer a query. None if the index is small, nearly all of
    /// its chunks have the same vector, it has no chunk that the filter allows, or words cannot be searched now. Needs
    /// processor time.
    ///
    /// # Errors
    ///
    /// If FAISS rejects a vector, or the disk fails.
    pub fn evidence(self: &Arc<Self>, query: &Query, text: &str) -> Result<Option<Evidence>, IndexError> {
        let chunks = self.view.read().vectors().alive();
        if chunks < MIN_CHUNKS || self.analyse_for_search().is_err() {
            return Ok(None);
        }
        let (state, allowed) = self.state(query, true);
        let Some(full_text) = &state.text else { return Ok(None) };
        let nearest = self.nearest(query, COMPARED, &state, allowed.as_deref())?;
        if nearest.is_empty() {
            return Ok(None);
        }
        let is_allowed = |row: u64| allowed.as_ref().is_none_or(|allowed| state.vectors.contains(allowed, row));
        let rows: Vec<u64> = nearest.iter().map(|hit| hit.row).collect();
        let by_words = self.search_text(full_text, text, COMPARED, &is_allowed);
        let scores = self.score_text(full_text, text, &rows);
        let (Ok(TextHits { hits, words }), Ok(scores)) = (by_words, scores) else { return Ok(None) };

        let background = self.background_distances.get(chunks, &state)?;
        let has_document_names = has_document_names(&self.record.embedding_fingerprint);
        let both = Both { nearest, by_words: hits, scores };
        let observed = Observed { both, words, chunks, background, has_document_names };
        let distances = Distances { query: &query.vectors, reader: &state.reader };
        let covered = |row| self.idf_of_row(full_text, text, row).ok();
        observed.evidence(|row| distances.of(row), covered)
    }
}

/// What both searches observed, each with at most [`COMPARED`] chunks.
#[derive(Debug)]
pub struct Observed {
    /// The results of both searches.
    pub both: Both,
    /// How well the index knows the words of the question.
    pub words: KnownWords,
    /// The chunks of the index.
    pub chunks: usize,
    /// The distances of random pairs of chunks.
    pub background: Distribution,
    /// Whether the model embeds the name of a document with each chunk.
    pub has_document_names: bool,
}

impl Observed {
    /// What the searches tell. None if nothing was found, or the background is not known. `distance_of` is as for
    /// [`fused`], and `covered_idf` is the sum of the IDF of the words that a chunk has, or none if that is unknown.
    ///
    /// # Errors
    ///
    /// Those of `distance_of`.
    pub fn evidence<E>(
        self,
        distance_of: impl Fn(u64) -> Result<Option<f32>, E>,
        covered_idf: impl Fn(u64) -> Option<f32>,
    ) -> Result<Option<Evidence>, E> {
        let Self { both, words, chunks, background, has_document_names } = self;
        // Compared with a mean of nothing, every question would look unanswerable.
        if !background.is_known() {
            return Ok(None);
        }
        let (Some(first), Some(last)) = (both.nearest.first(), both.nearest.last()) else { return Ok(None) };
        let (nearest_distance, tenth_distance) = (first.distance, last.distance);
        let is_by_words = |row: u64| both.by_words.iter().any(|hit| hit.row == row);
        let (in_both, found) = (both.nearest.iter().filter(|hit| is_by_words(hit.row)).count(), both.nearest.len());
        let idf = words.idf.max(f32::MIN_POSITIVE);
        let bm25 = |place: usize| both.by_words.get(place).map_or(0.0, |hit| hit.bm25);
        let bm25_lead_share = (bm25(0) - bm25(COMPARED - 1)) / idf;
        let best = fused(Fusion::Weighted(Weights::default()), both, distance_of, 1)?;
        let Some(covered) = best.first().map_or(Some(0.0), |best| covered_idf(best.row)) else { return Ok(None) };
        #[expect(clippy::cast_precision_loss, reason = "at most ten")]
        let agreement = in_both as f32 / found as f32;
        Ok(Some(Evidence {
            nearest_distance,
            tenth_distance,
            background_mean: background.mean,
            background_deviation: background.deviation,
            bm25_lead_share,
            covered_share: covered / idf,
            unknown_share: words.unknown_idf / idf,
            agreement,
            words: words.count,
            chunks,
            has_document_names,
        }))
    }
}

#[cfg(test)]
mod tests;

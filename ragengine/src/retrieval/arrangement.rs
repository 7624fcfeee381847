//! The stages between the search and the selection: newer chunks first, and no chunk twice.

use std::time::Instant;

use jiff::civil::Date;
use ragengine_client::wire::ExplainedStage;
use ragengine_index::IndexError;
use ragengine_index::search::Candidates;
use ragengine_pipeline::ranking::Ranked;
use ragengine_pipeline::ranking::diversity::{duplicates, mmr};
use ragengine_pipeline::ranking::recency::newest_first;
use ragengine_pipeline::request::Diversity;
use ragengine_settings::Retrieval;

use super::stages::{StagesOn, ended, outcome};

/// The most chunks that are compared with each other: each pair costs a multiplication of vectors.
const MAX_COMPARED: usize = 300;

/// How found chunks are arranged.
#[derive(Debug, Clone, Copy)]
pub struct Arrangement {
    recency: bool,
    diversity: Diversity,
    top_k: usize,
    mmr_lambda: f32,
    duplicate_similarity: f32,
}

impl Arrangement {
    /// None if the order of the search stays.
    pub fn new(on: StagesOn, top_k: usize, settings: &Retrieval) -> Option<Self> {
        let (recency, diversity) = (on.recency, on.diversity);
        let Retrieval { mmr_lambda, duplicate_similarity, .. } = *settings;
        let is_needed = recency || diversity != Diversity::None;
        is_needed.then_some(Self { recency, diversity, top_k, mmr_lambda, duplicate_similarity })
    }
}

/// Arranges chunks, and tells what the stages did. Needs processor time.
///
/// # Errors
///
/// If the disk fails.
pub fn arrange(
    mut candidates: Candidates,
    arrangement: Arrangement,
) -> Result<(Candidates, Vec<ExplainedStage>), IndexError> {
    let mut stages = Vec::new();
    if arrangement.recency {
        let started = Instant::now();
        let order = order_by_recency(&candidates, &candidates.days()?);
        let has_changed = !order.is_sorted();
        candidates.reorder(&order);
        stages.push(ended("recency", outcome(has_changed), started));
    }
    if arrangement.diversity != Diversity::None {
        let started = Instant::now();
        let has_changed = diversify(&mut candidates, arrangement)?;
        stages.push(ended("diversity", outcome(has_changed), started));
    }
    Ok((candidates, stages))
}

fn order_by_recency(candidates: &Candidates, days: &[Option<Date>]) -> Vec<usize> {
    let ranked: Vec<Ranked<usize>> =
        candidates.found().iter().enumerate().map(|(id, found)| Ranked { id, score: found.score }).collect();
    newest_first(&ranked, |position| days[position]).into_iter().map(|ranked| ranked.id).collect()
}

/// Returns whether something changed.
fn diversify(candidates: &mut Candidates, arrangement: Arrangement) -> Result<bool, IndexError> {
    let vectors = candidates.first_vectors(MAX_COMPARED)?;
    let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
    let mut has_changed = false;
    if arrangement.diversity == Diversity::Mmr {
        let scores: Vec<f32> = candidates.found()[..vectors.len()].iter().map(|found| found.score).collect();
        let order = mmr(&scores, &vectors, arrangement.mmr_lambda, arrangement.top_k.min(vectors.len()));
        has_changed = !order.iter().copied().eq(0..candidates.len());
        candidates.reorder(&order);
    } else {
        for (position, twin) in duplicates(&vectors, arrangement.duplicate_similarity).into_iter().enumerate() {
            if twin.is_some() {
                candidates.mark_duplicate(position);
                has_changed = true;
            }
        }
    }
    Ok(has_changed)
}

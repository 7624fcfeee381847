//! The stages between the search and the selection: votes change the scores, newer chunks come first, the best ones are
//! in the order of a model, and no chunk is there twice.

use std::time::Instant;

use jiff::civil::Date;
use ragengine_client::wire::ExplainedStage;
use ragengine_engine::{Candidates, Index};
use ragengine_index::IndexError;
use ragengine_index::search::Found;
use ragengine_pipeline::ranking::Ranked;
use ragengine_pipeline::ranking::diversity::{duplicates, mmr, score_of_rank};
use ragengine_pipeline::ranking::recency::newest_first;
use ragengine_pipeline::request::{Diversity, Reranking};
use ragengine_pipeline::select::is_near;
use ragengine_settings::Retrieval;
use ragengine_traces::in_span;

use super::rerank::Reranked;
use super::stages::{outcome, passed};
use super::{Search, feedback};
use crate::app::App;
use crate::error::ApiError;

/// The most chunks that are compared with each other: each pair costs a multiplication of vectors.
const MAX_COMPARED: usize = 300;

/// What was decided about the context before the chunks are arranged.
#[derive(Debug, Clone, Copy)]
pub struct Decided {
    /// Whether there is context. Without it, no model is asked.
    pub has_context: bool,
    /// The largest distance of a chunk in the context. A chunk that is farther stands for no other chunk.
    pub max_distance: f32,
}

/// Arranges chunks, and tells what the stages did.
///
/// # Errors
///
/// If the disk fails.
pub async fn arrange(
    app: &App,
    index: &Index,
    search: &Search,
    mut candidates: Candidates,
    decided: Decided,
) -> Result<(Candidates, Vec<ExplainedStage>), ApiError> {
    let pool = &app.loaded()?.search_pool;
    let mut stages = Vec::new();
    let mut is_reranked = false;
    if search.on.feedback {
        let (arranged, stage) = in_span("feedback", feedback::adjust(app, index, search, candidates)).await?;
        candidates = arranged;
        stages.push(stage);
    }
    if search.on.recency {
        let (arranged, stage) = pool.run(move || by_recency(candidates)).await?;
        candidates = arranged;
        stages.push(stage);
    }
    if search.on.rerank != Reranking::Never {
        let reranked = in_span("rerank", app.reranker.rerank(app, search, candidates, decided.has_context)).await?;
        let Reranked { candidates: arranged, is_ordered, stage } = reranked;
        (candidates, is_reranked) = (arranged, is_ordered);
        stages.extend(stage);
    }
    if search.on.diversity != Diversity::None {
        candidates.load_first_vectors(MAX_COMPARED).await?;
        let diversifying = Diversifying {
            is_reranked,
            max_distance: decided.max_distance,
            ..Diversifying::new(search, &app.settings.retrieval)
        };
        let (arranged, stage) = pool.run(move || diversifying.arrange(candidates)).await?;
        candidates = arranged;
        stages.push(stage);
    }
    Ok((candidates, stages))
}

fn by_recency(mut candidates: Candidates) -> Result<(Candidates, ExplainedStage), IndexError> {
    let started = Instant::now();
    let order = order_by_recency(&candidates, &candidates.days()?);
    let has_changed = !order.is_sorted();
    candidates.reorder(&order);
    Ok((candidates, passed("recency", outcome(has_changed), started.elapsed())))
}

fn order_by_recency(candidates: &Candidates, days: &[Option<Date>]) -> Vec<usize> {
    let ranked: Vec<Ranked<usize>> =
        candidates.found().iter().enumerate().map(|(id, found)| Ranked { id, score: found.score }).collect();
    newest_first(&ranked, |position| days[position]).into_iter().map(|ranked| ranked.id).collect()
}

/// How chunks that say the same are treated.
#[derive(Debug, Clone, Copy)]
struct Diversifying {
    diversity: Diversity,
    /// Whether a model put the chunks in order, so that their ranks count instead of their scores.
    is_reranked: bool,
    /// Only chunks within this distance are compared, if there are any.
    max_distance: f32,
    top_k: usize,
    mmr_lambda: f32,
    duplicate_similarity: f32,
}

impl Diversifying {
    fn new(search: &Search, settings: &Retrieval) -> Self {
        let Retrieval { mmr_lambda, duplicate_similarity, .. } = *settings;
        Self {
            diversity: search.on.diversity,
            is_reranked: false,
            max_distance: f32::INFINITY,
            top_k: search.top_k,
            mmr_lambda,
            duplicate_similarity,
        }
    }

    fn arrange(self, mut candidates: Candidates) -> Result<(Candidates, ExplainedStage), IndexError> {
        let started = Instant::now();
        let vectors = candidates.first_vectors(MAX_COMPARED)?;
        let compared = self.compared(&candidates.found()[..vectors.len()]);
        let vectors: Vec<&[f32]> = compared.iter().map(|position| vectors[*position].as_slice()).collect();
        let mut has_changed = false;
        if self.diversity == Diversity::Mmr {
            let scores = self.scores(&candidates, &compared);
            let order = mmr(&scores, &vectors, self.mmr_lambda, self.top_k.min(vectors.len()));
            let order: Vec<usize> = order.into_iter().map(|place| compared[place]).collect();
            has_changed = !order.iter().copied().eq(0..candidates.len());
            candidates.reorder(&order);
        } else {
            for (position, twin) in compared.iter().zip(duplicates(&vectors, self.duplicate_similarity)) {
                if twin.is_some() {
                    candidates.mark_duplicate(*position);
                    has_changed = true;
                }
            }
        }
        Ok((candidates, passed("diversity", outcome(has_changed), started.elapsed())))
    }

    /// The positions of the chunks that are compared: those that are near enough, so that none of them is left out for
    /// one that is not used. All, if none is near enough.
    fn compared(self, found: &[Found]) -> Vec<usize> {
        let near = |position: &usize| is_near(found[*position].distance, self.max_distance);
        let compared: Vec<usize> = (0..found.len()).filter(near).collect();
        if compared.is_empty() { (0..found.len()).collect() } else { compared }
    }

    fn scores(self, candidates: &Candidates, compared: &[usize]) -> Vec<f32> {
        if self.is_reranked {
            return (0..compared.len()).map(|rank| score_of_rank(rank, compared.len())).collect();
        }
        candidates.at(compared.iter().copied()).iter().map(|found| found.score).collect()
    }
}

#[cfg(test)]
mod tests {
    use ragengine_index::search::Hit;

    use super::*;

    #[test]
    fn only_near_chunks_are_compared_if_there_are_any() {
        for (distances, max_distance, compared) in [
            (&[0.854, 0.846, 0.2][..], 0.85, &[1, 2][..]),
            (&[0.9, 0.95], 0.85, &[0, 1]),
            (&[0.9, 0.1], f32::INFINITY, &[0, 1]),
            (&[], 0.85, &[]),
        ] {
            let diversifying = Diversifying {
                diversity: Diversity::Duplicates,
                is_reranked: false,
                max_distance,
                top_k: 8,
                mmr_lambda: 0.5,
                duplicate_similarity: 0.9,
            };
            let rows = (0..).zip(distances);
            let found: Vec<Found> = rows.map(|(row, &distance)| Found::from(Hit { row, distance })).collect();
            assert_eq!(diversifying.compared(&found), compared, "{distances:?}");
        }
    }
}

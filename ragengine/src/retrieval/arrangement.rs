//! The stages between the search and the selection: votes change the scores, newer chunks come first, the best ones are
//! in the order of a model, and no chunk is there twice.

use std::time::Instant;

use jiff::civil::Date;
use ragengine_client::wire::ExplainedStage;
use ragengine_engine::{Candidates, Index};
use ragengine_index::IndexError;
use ragengine_pipeline::ranking::Ranked;
use ragengine_pipeline::ranking::diversity::{duplicates, mmr, score_of_rank};
use ragengine_pipeline::ranking::recency::newest_first;
use ragengine_pipeline::request::{Diversity, Reranking};
use ragengine_settings::Retrieval;
use ragengine_traces::in_span;

use super::rerank::Reranked;
use super::stages::{outcome, passed};
use super::{Search, feedback};
use crate::app::App;
use crate::error::ApiError;

/// The most chunks that are compared with each other: each pair costs a multiplication of vectors.
const MAX_COMPARED: usize = 300;

/// Arranges chunks, and tells what the stages did. Without context, no model is asked.
///
/// # Errors
///
/// If the disk fails.
pub async fn arrange(
    app: &App,
    index: &Index,
    search: &Search,
    mut candidates: Candidates,
    has_context: bool,
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
        let reranked = in_span("rerank", app.reranker.rerank(app, search, candidates, has_context)).await?;
        let Reranked { candidates: arranged, is_ordered, stage } = reranked;
        (candidates, is_reranked) = (arranged, is_ordered);
        stages.extend(stage);
    }
    if search.on.diversity != Diversity::None {
        candidates.load_first_vectors(MAX_COMPARED).await?;
        let diversifying = Diversifying::new(search, is_reranked, &app.settings.retrieval);
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
    top_k: usize,
    mmr_lambda: f32,
    duplicate_similarity: f32,
}

impl Diversifying {
    fn new(search: &Search, is_reranked: bool, settings: &Retrieval) -> Self {
        let Retrieval { mmr_lambda, duplicate_similarity, .. } = *settings;
        Self { diversity: search.on.diversity, is_reranked, top_k: search.top_k, mmr_lambda, duplicate_similarity }
    }

    fn arrange(self, mut candidates: Candidates) -> Result<(Candidates, ExplainedStage), IndexError> {
        let started = Instant::now();
        let vectors = candidates.first_vectors(MAX_COMPARED)?;
        let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let mut has_changed = false;
        if self.diversity == Diversity::Mmr {
            let scores = self.scores(&candidates, vectors.len());
            let order = mmr(&scores, &vectors, self.mmr_lambda, self.top_k.min(vectors.len()));
            has_changed = !order.iter().copied().eq(0..candidates.len());
            candidates.reorder(&order);
        } else {
            for (position, twin) in duplicates(&vectors, self.duplicate_similarity).into_iter().enumerate() {
                if twin.is_some() {
                    candidates.mark_duplicate(position);
                    has_changed = true;
                }
            }
        }
        Ok((candidates, passed("diversity", outcome(has_changed), started.elapsed())))
    }

    fn scores(self, candidates: &Candidates, count: usize) -> Vec<f32> {
        if self.is_reranked {
            return (0..count).map(|rank| score_of_rank(rank, count)).collect();
        }
        candidates.found()[..count].iter().map(|found| found.score).collect()
    }
}

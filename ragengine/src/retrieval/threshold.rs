//! Whether what was found is near enough to be context.

use std::sync::Arc;

use ragengine_client::wire::ExplainedEvidence;
use ragengine_engine::{Candidates, Index};
use ragengine_index::search::similarity;
use ragengine_pipeline::ranking::answerable::Evidence;
use ragengine_pipeline::request::Threshold;
use ragengine_pipeline::select::is_near;

use super::Search;
use crate::app::App;
use crate::error::ApiError;

/// Smaller than every distance.
const NOTHING_IS_NEAR: f32 = -1.0;

/// The decision about the context of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The largest distance of a chunk in the context.
    pub max_distance: f32,
    /// The evidence of the calibrated threshold.
    pub evidence: Option<Evidence>,
}

impl Verdict {
    /// Whether one of the chunks is near enough.
    pub fn allows_any(&self, candidates: &Candidates) -> bool {
        candidates.distances().any(|distance| is_near(distance, self.max_distance))
    }
}

/// The evidence for an explanation.
pub fn explained(evidence: Evidence) -> ExplainedEvidence {
    ExplainedEvidence {
        probability: evidence.probability(),
        nearest_distance: evidence.nearest_distance,
        tenth_distance: evidence.tenth_distance,
        background_mean: evidence.background_mean,
        background_deviation: evidence.background_deviation,
        bm25_lead_share: evidence.bm25_lead_share,
        covered_share: evidence.covered_share,
        unknown_share: evidence.unknown_share,
        agreement: evidence.agreement,
        words: evidence.words,
        chunks: evidence.chunks,
    }
}

/// Decides about the context. Where the calibrated threshold cannot be used, because the index is small or its full
/// text is not ready, the fixed one is.
///
/// # Errors
///
/// [`ApiError`] when FAISS or the disk fails.
pub async fn judge(
    app: &App,
    index: &Index,
    search: &Search,
    candidates: &Candidates,
    threshold: Threshold,
) -> Result<Verdict, ApiError> {
    let nearest = candidates.distances().reduce(f32::min);
    let min_similarity = app.settings.retrieval.min_similarity.unwrap_or(f32::NEG_INFINITY);
    if nearest.is_none_or(|distance| similarity(distance) < min_similarity) {
        return Ok(Verdict { max_distance: NOTHING_IS_NEAR, evidence: None });
    }
    let evidence = match threshold {
        Threshold::Fixed => None,
        Threshold::Calibrated => evidence(app, index, search).await?,
    };
    let max_distance = match evidence {
        None => search.max_distance,
        Some(evidence) if evidence.is_answerable() => f32::INFINITY,
        Some(_) => NOTHING_IS_NEAR,
    };
    Ok(Verdict { max_distance, evidence })
}

async fn evidence(app: &App, index: &Index, search: &Search) -> Result<Option<Evidence>, ApiError> {
    let query = search.query(&app.settings.retrieval);
    Ok(index.evidence(&app.loaded()?.search_pool, query, Arc::clone(&search.text)).await?)
}

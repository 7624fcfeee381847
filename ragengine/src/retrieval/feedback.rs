//! Votes on earlier answers raise and lower the scores of their chunks.

use std::collections::BTreeMap;
use std::time::Instant;

use ragengine_client::wire::ExplainedStage;
use ragengine_embedding::Windows;
use ragengine_engine::{Candidates, Index};
use ragengine_errors::Logged as _;
use ragengine_pipeline::ranking::Ranked;
use ragengine_pipeline::ranking::feedback::{Vote, adjusted, adjustment};
use ragengine_stores::ChunkVote;
use tokio::time::timeout;
use tracing::warn;

use super::Search;
use super::stages::{ended, outcome};
use crate::app::App;
use crate::error::ApiError;

/// The chunks whose votes are looked up: the best ones.
const MAX_CHUNKS: usize = 300;

type Votes = BTreeMap<String, Vec<ChunkVote>>;

/// Adds what votes give to the scores, and puts the best first. If the votes cannot be read in time, nothing changes.
/// Never changes which chunks are near enough.
///
/// # Errors
///
/// If the disk of the index fails.
pub(super) async fn adjust(
    app: &App,
    index: &Index,
    search: &Search,
    candidates: Candidates,
) -> Result<(Candidates, ExplainedStage), ApiError> {
    let started = Instant::now();
    let loaded = app.loaded()?;
    let Some(store) = loaded.stores.feedback() else { return Ok((candidates, ended("feedback", "off", started))) };
    let (ids, candidates) =
        loaded.search_pool.run(move || candidates.first_node_ids(MAX_CHUNKS).map(|ids| (ids, candidates))).await?;
    let fingerprint = &index.record().embedding_fingerprint;
    let looking_up = store.votes_on(index.name(), fingerprint, &ids);
    let votes = match timeout(app.stage_timeouts.feedback, looking_up).await {
        Ok(Ok(votes)) => votes,
        Ok(Err(error)) => {
            warn!(kind = error.kind(), reason = error.for_log(), "votes not read: the order of chunks stays");
            return Ok((candidates, ended("feedback", "failed", started)));
        }
        Err(_) => return Ok((candidates, ended("feedback", "timeout", started))),
    };
    if votes.is_empty() {
        return Ok((candidates, ended("feedback", "unchanged", started)));
    }
    let question = search.vectors.clone();
    let reordered = move || Ok::<_, ApiError>(reordered(candidates, &ids, &votes, &question));
    let (candidates, has_changed) = loaded.search_pool.run(reordered).await?;
    Ok((candidates, ended("feedback", outcome(has_changed), started)))
}

/// The candidates in their new order, and whether a score has changed.
fn reordered(mut candidates: Candidates, ids: &[String], votes: &Votes, question: &Windows) -> (Candidates, bool) {
    let of_chunk = |id: &String| votes.get(id).map_or(0.0, |votes| adjustment(&compared(votes, question)));
    let adjustments: Vec<f32> = ids.iter().map(of_chunk).collect();
    let ranked: Vec<Ranked<usize>> =
        candidates.found().iter().enumerate().map(|(id, found)| Ranked { id, score: found.score }).collect();
    let adjusted = adjusted(&ranked, |position| adjustments.get(position).copied().unwrap_or_default());
    let order: Vec<usize> = adjusted.into_iter().map(|ranked| ranked.id).collect();
    candidates.adjust(&adjustments);
    candidates.reorder(&order);
    (candidates, adjustments.iter().any(|adjustment| *adjustment != 0.0))
}

/// The votes, with the similarities of their questions to this one. A question of another embedding model has none.
fn compared<'a>(votes: &'a [ChunkVote], question: &Windows) -> Vec<Vote<'a>> {
    let compared = |vote: &'a ChunkVote| Vote {
        voter: &vote.voter,
        voted_at_ms: vote.voted_at_ms,
        is_up: vote.is_up,
        question_similarity: question.similarity(&vote.question_vector).unwrap_or_default(),
    };
    votes.iter().map(compared).collect()
}

//! The retrieval of a chat: prepares the question, embeds it, and searches the index.

use std::sync::Arc;

use ragengine_embedding::Windows;
use ragengine_index::search::Candidates;

use super::ongoing::Ongoing;
use super::question::Asked;
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::report::Stage;
use crate::retrieval::preparation::{Endpoint, prepare};
use crate::retrieval::question::{self, Asker};
use crate::retrieval::{self, RuledQuery};

/// Finds the chunks that may answer the question, nearest first, and returns the vectors of the question too.
///
/// # Errors
///
/// [`ApiError`] when the question is too long, or the model, FAISS or the disk fails.
pub(super) async fn search(
    app: &App,
    caller: &Caller,
    asked: &Arc<Asked>,
    report: &mut Ongoing,
) -> Result<(Windows, Candidates), ApiError> {
    let (endpoint, request) = (Endpoint::Completions, &asked.request);
    let mut prepared = prepare(app, endpoint, &asked.turn.user_prompt, request.stages).await?;
    let vectors = question::embed(app, &asked.embedding, &prepared.text, Asker::Chat).await?;
    report.was_embedded(vectors.count());
    report.stage_ends(Stage::Embed);
    let ruled =
        RuledQuery { query: asked.query(&vectors), rule: prepared.rule, max_distance: asked.max_distance, endpoint };
    let (candidates, is_dropped) = retrieval::retrieve_by_rule(app, caller, &asked.index, ruled).await?;
    if let Some(filters) = prepared.stages.last_mut().filter(|_| is_dropped) {
        filters.outcome = "dropped".to_owned();
    }
    prepared.stages.into_iter().for_each(|stage| report.stage_was(stage));
    report.stage_ends(Stage::Search);
    Ok((vectors, candidates))
}

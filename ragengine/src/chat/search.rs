//! The retrieval of a chat: prepares the question, embeds it, and searches the index.

use std::sync::Arc;
use std::time::Duration;

use ragengine_client::wire::ExplainedStage;
use ragengine_embedding::Windows;
use ragengine_engine::Candidates;
use ragengine_index::search::similarity;
use ragengine_pipeline::ranking::bands::Band;
use ragengine_pipeline::request::RetrievalMode;

use super::ongoing::Ongoing;
use super::question::Asked;
use super::rewrite::Rewritten;
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::language_model::SideTasks;
use crate::report::Stage;
use crate::retrieval::preparation::{PreparedQuery, prepare};
use crate::retrieval::question::{self, Asker};
use crate::retrieval::stages::{self, Endpoint};
use crate::retrieval::{self, Search, Verdict};

/// What was found for a question.
pub(super) struct Found {
    /// The vectors of the question.
    pub vectors: Windows,
    /// The chunks that may answer it, best first.
    pub candidates: Candidates,
    /// The largest distance of a chunk in the context.
    pub max_distance: f32,
    /// The question that needs no history, if the language model gets it.
    pub condensed_question: Option<String>,
}

/// A question that is ready for the search.
pub(super) struct Embedded {
    prepared: PreparedQuery,
    vectors: Windows,
}

impl Embedded {
    /// Prepares a question and embeds it.
    ///
    /// # Errors
    ///
    /// [`ApiError`] when the question is too long, or the model fails.
    pub async fn of(app: &App, asked: &Asked, question: &str) -> Result<Self, ApiError> {
        let prepared = prepare(app, asked.way.endpoint, question, &asked.request.stages).await?;
        let vectors = question::embed(app, &asked.embedding, &prepared.text, Asker::Chat).await?;
        Ok(Self { prepared, vectors })
    }
}

/// Finds the chunks that may answer the question.
///
/// # Errors
///
/// [`ApiError`] when the question is too long, or the model, FAISS or the disk fails.
pub(super) async fn search(
    app: &App,
    caller: &Caller,
    asked: &Arc<Asked>,
    (rewritten, side_tasks): (Rewritten, SideTasks),
    report: &mut Ongoing,
) -> Result<Found, ApiError> {
    let (endpoint, request) = (asked.way.endpoint, &asked.request);
    let on = asked.on;
    let Rewritten { question, condensed, stage, embedded } = rewritten;
    stages::count(&app.metrics, endpoint, "rewrite", stage.as_slice());
    if stage.is_some() {
        report.stage_ends(Stage::Rewrite);
    }
    let question = question.as_ref().unwrap_or(&asked.turn.user_prompt);
    let Embedded { prepared, vectors } = match embedded {
        Some(embedded) => embedded,
        None => Embedded::of(app, asked, question).await?,
    };
    let mut stages: Vec<ExplainedStage> = stage.into_iter().chain(prepared.stages).collect();
    report.was_embedded(vectors.count());
    report.stage_ends(Stage::Embed);
    let search = Search {
        vectors: vectors.clone(),
        text: prepared.text.into(),
        filter: request.metadata_filter.clone(),
        rule: prepared.rule,
        max_distance: asked.max_distance,
        threshold: Some(app.settings.retrieval.threshold),
        top_k: asked.budget.top_k,
        on,
        endpoint,
        side_tasks: Some(side_tasks),
    };
    let mut ranked = retrieval::retrieve(app, caller, &asked.index, search).await?;
    let verdict = ranked.verdict.unwrap_or(Verdict { max_distance: asked.max_distance, evidence: None });
    if endpoint != Endpoint::Completions {
        ranked.candidates.keep_best(asked.budget.top_k, verdict.max_distance);
    }
    if let Some(filters) = stages.iter_mut().find(|stage| stage.stage == "filters" && ranked.is_rule_dropped) {
        filters.outcome = "dropped".to_owned();
    }
    if let Some(rerank) = ranked.stages.iter().find(|stage| stage.stage == "rerank") {
        report.stage_took(Stage::Rerank, Duration::from_secs_f64(rerank.elapsed_ms / 1000.0));
    }
    stages.into_iter().chain(ranked.stages).for_each(|stage| report.stage_was(stage));
    if on.retrieval != RetrievalMode::Dense {
        let nearest = ranked.candidates.distances().reduce(f32::min);
        report.was_found(nearest.map(|distance| Band::of(similarity(distance))));
    }
    verdict.evidence.into_iter().for_each(|evidence| report.was_judged(evidence));
    report.stage_ends(Stage::Search);
    let condensed_question = condensed.filter(|_| asked.is_condensed_for_model());
    Ok(Found { vectors, candidates: ranked.candidates, max_distance: verdict.max_distance, condensed_question })
}

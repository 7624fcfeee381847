//! `POST /retrieve`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ragengine_client::wire::{
    self, ErrorDetail, Retrieve, RetrieveExplanation, RetrieveStages, Retrieved, RetrievedNode, RetrievedSource,
};
use ragengine_index::IndexError;
use ragengine_index::search::{Found, Origin, RetrievedChunk, similarity};
use ragengine_pipeline::filter::Filter;
use ragengine_pipeline::ranking::bands::Band;
use ragengine_pipeline::request::{RetrievalMode, StageChoices, Threshold};

use super::extract::{JsonBody, out_of_bounds};
use super::reply;
use crate::access::{Action, Caller};
use crate::app::App;
use crate::error::{ApiError, PlainError};
use crate::retrieval::preparation;
use crate::retrieval::question::{self, Asker};
use crate::retrieval::stages::Endpoint;
use crate::retrieval::{self, Search, Shown, threshold};

/// Initial size of the buffer for the reply.
const ABOUT_BYTES: usize = 16 << 10;

/// Finds the chunks that match a question best.
#[utoipa::path(post, path = "/retrieve", tag = "retrieval", request_body = Retrieve, responses(
    (status = 200, description = "The chunks, best first.", body = Retrieved),
    (status = 400, description = "The question is empty.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 429, description = "Too many reads are waiting.", body = ErrorDetail),
))]
pub async fn retrieve(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<Retrieve>,
) -> Result<Response, PlainError> {
    if !(1..=300).contains(&request.max_node_count) {
        return Err(out_of_bounds(["body", "max_node_count"], "between 1 and 300").into());
    }
    Ok(found(&app, &caller, request).await?)
}

/// The reply with the chunks that match best.
pub(super) async fn found(app: &Arc<App>, caller: &Caller, request: Retrieve) -> Result<Response, ApiError> {
    let loaded = app.loaded()?;
    if request.query.trim().is_empty() {
        return Err(ApiError::InvalidRequest("Query string cannot be empty.".to_owned()));
    }
    let index = loaded.index(caller, Action::Read, &request.index_name).await?;
    let embedding = loaded.generations.embedding_of(&index)?;
    let filter =
        Filter::new(request.metadata_filter.as_ref().unwrap_or(&serde_json::Map::new())).map_err(IndexError::from)?;
    let prepared = preparation::prepare(app, Endpoint::Retrieve, &request.query, &choices(request.pipeline)).await?;
    let vectors = question::embed(app, &embedding, &prepared.text, Asker::Retrieve).await?;
    let query_windows = Some(vectors.count()).filter(|windows| *windows > 1);
    let search = Search {
        vectors,
        text: prepared.text.into(),
        filter,
        rule: prepared.rule,
        max_distance: app.settings.retrieval.max_distance,
        threshold: request.explain.then(|| chosen_threshold(app, request.pipeline)),
        top_k: request.max_node_count,
        on: prepared.on,
        endpoint: Endpoint::Retrieve,
        side_tasks: None,
    };
    let mut stages = prepared.stages;
    let show = move |chunks: Vec<RetrievedChunk>, shown: Shown| {
        if let Some(filters) = stages.iter_mut().find(|stage| stage.stage == "filters" && shown.is_rule_dropped) {
            filters.outcome = "dropped".to_owned();
        }
        stages.extend(shown.stages);
        let nearest = chunks.iter().map(|chunk| chunk.found.distance).reduce(f32::min);
        let band = nearest.map(|distance| Band::of(similarity(distance)).label().to_owned());
        let explanation = request.explain.then_some(RetrieveExplanation {
            stages,
            band,
            context: shown.is_context,
            evidence: shown.evidence.map(threshold::explained),
        });
        let results: Vec<RetrievedNode> = chunks.into_iter().map(node).collect();
        let retrieved = Retrieved { query: request.query, count: results.len(), results, query_windows, explanation };
        reply::written(&retrieved, ABOUT_BYTES)
    };
    Ok(reply::of_bytes(retrieval::show_all(app, caller, &index, search, show).await?))
}

fn choices(stages: Option<RetrieveStages>) -> StageChoices {
    let RetrieveStages { acronyms, filter_rules, retrieval, threshold: _ } = stages.unwrap_or_default();
    let retrieval = retrieval.map(|mode| match mode {
        wire::RetrievalMode::Dense => RetrievalMode::Dense,
        wire::RetrievalMode::Text => RetrievalMode::Text,
        wire::RetrievalMode::Hybrid => RetrievalMode::Hybrid,
        wire::RetrievalMode::Rrf => RetrievalMode::Rrf,
    });
    StageChoices { acronyms, filter_rules, retrieval, ..StageChoices::default() }
}

fn chosen_threshold(app: &App, stages: Option<RetrieveStages>) -> Threshold {
    match stages.and_then(|stages| stages.threshold) {
        None => app.settings.retrieval.threshold,
        Some(wire::Threshold::Fixed) => Threshold::Fixed,
        Some(wire::Threshold::Calibrated) => Threshold::Calibrated,
    }
}

fn node(chunk: RetrievedChunk) -> RetrievedNode {
    let Found { distance, score, bm25, origin, .. } = chunk.found;
    RetrievedNode {
        doc_id: chunk.doc_id,
        node_id: chunk.node_id,
        text: chunk.text,
        score,
        dense_score: (origin != Origin::Words).then(|| similarity(distance)),
        sparse_score: bm25.filter(|_| origin != Origin::Vector),
        source: match origin {
            Origin::Vector => RetrievedSource::DenseOnly,
            Origin::Words => RetrievedSource::SparseOnly,
            Origin::Both => RetrievedSource::Both,
        },
        metadata: (*chunk.metadata).clone(),
    }
}

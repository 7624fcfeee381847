//! `POST /retrieve`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ragengine_client::wire::{ErrorDetail, Retrieve, Retrieved, RetrievedNode, RetrievedSource};
use ragengine_index::IndexError;
use ragengine_index::search::{Query, RetrievedChunk, similarity};
use ragengine_pipeline::filter::Filter;
use ragengine_pipeline::request::StageChoices;

use super::extract::{JsonBody, out_of_bounds};
use super::reply;
use crate::access::{Action, Caller};
use crate::app::App;
use crate::error::{ApiError, PlainError};
use crate::retrieval::preparation::{self, Endpoint};
use crate::retrieval::question::{self, Asker};
use crate::retrieval::{self, RuledQuery};

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
    let loaded = app.loaded()?;
    if request.query.trim().is_empty() {
        return Err(ApiError::InvalidRequest("Query string cannot be empty.".to_owned()).into());
    }
    let index = loaded.index(&caller, Action::Read, &request.index_name)?;
    let embedding = loaded.generations.embedding_of(&index)?;
    let filter =
        Filter::new(request.metadata_filter.as_ref().unwrap_or(&serde_json::Map::new())).map_err(IndexError::from)?;
    let choices = request.pipeline.unwrap_or_default();
    let choices = StageChoices { acronyms: choices.acronyms, filter_rules: choices.filter_rules };
    let prepared = preparation::prepare(&app, Endpoint::Retrieve, &request.query, choices).await?;
    let vectors = question::embed(&app, &embedding, &prepared.text, Asker::Retrieve).await?;
    let query_windows = Some(vectors.count()).filter(|windows| *windows > 1);
    let query = Query { vectors, top_k: request.max_node_count, filter };
    let (rule, endpoint) = (prepared.rule, Endpoint::Retrieve);
    let ruled = RuledQuery { query, rule, max_distance: f32::INFINITY, endpoint };
    let show = move |chunks: Vec<RetrievedChunk>| {
        let results: Vec<RetrievedNode> = chunks.into_iter().map(node).collect();
        let retrieved = Retrieved { query: request.query, count: results.len(), results, query_windows };
        reply::written(&retrieved, ABOUT_BYTES)
    };
    Ok(reply::of_bytes(retrieval::show_all(&app, &caller, &index, ruled, show).await?))
}

fn node(chunk: RetrievedChunk) -> RetrievedNode {
    let similarity = similarity(chunk.distance);
    RetrievedNode {
        doc_id: chunk.doc_id,
        node_id: chunk.node_id,
        text: chunk.text,
        score: similarity,
        dense_score: Some(similarity),
        sparse_score: None,
        source: RetrievedSource::DenseOnly,
        metadata: (*chunk.metadata).clone(),
    }
}

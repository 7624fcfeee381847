//! `POST /search`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ragengine_client::wire::{ErrorDetail, Retrieve, SearchReply, SearchRequest};

use super::extract::{JsonBody, out_of_bounds};
use super::retrieve;
use crate::access::Caller;
use crate::app::App;
use crate::converse::index_name;
use crate::error::PlainError;

/// Finds the chunks that match a question best, as `/retrieve` does.
#[utoipa::path(post, path = "/search", tag = "retrieval", request_body = SearchRequest, responses(
    (status = 200, description = "The chunks, best first.", body = SearchReply),
    (status = 400, description = "The question is empty, or the index is missing.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 429, description = "Too many reads are waiting.", body = ErrorDetail),
))]
pub async fn search(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    JsonBody(request): JsonBody<SearchRequest>,
) -> Result<Response, PlainError> {
    let SearchRequest { query, top_k, index_name, metadata_filter, pipeline } = request;
    let max_node_count = top_k.unwrap_or(app.settings.endpoints.chat.top_k as usize);
    if !(1..=300).contains(&max_node_count) {
        return Err(out_of_bounds(["body", "top_k"], "between 1 and 300").into());
    }
    let index_name = index_name::chosen(&app, &caller, index_name.as_deref()).await?;
    let retrieve = Retrieve { index_name, query, max_node_count, metadata_filter, pipeline, explain: false };
    Ok(retrieve::found(&app, &caller, retrieve).await?)
}

//! Retrieval.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use ragengine_client::wire::{ErrorDetail, Retrieve, Retrieved};

use super::extract::{JsonBody, out_of_bounds};
use super::reply;
use crate::app::App;
use crate::error::PlainError;

/// Finds the chunks that match a question best.
#[utoipa::path(post, path = "/retrieve", tag = "retrieval", request_body = Retrieve, responses(
    (status = 200, description = "The chunks, the best first.", body = Retrieved),
    (status = 400, description = "The question is empty.", body = ErrorDetail),
    (status = 404, description = "No such index.", body = ErrorDetail),
    (status = 422, description = "The body is not what it must be.", body = ErrorDetail),
    (status = 429, description = "Too many questions wait already.", body = ErrorDetail),
))]
pub async fn retrieve(
    State(app): State<Arc<App>>,
    JsonBody(request): JsonBody<Retrieve>,
) -> Result<Response, PlainError> {
    if !(1..=300).contains(&request.max_node_count) {
        return Err(out_of_bounds(["body", "max_node_count"], "between 1 and 300").into());
    }
    Ok(reply::of_bytes(crate::retrieve::retrieve(&app, request).await?))
}

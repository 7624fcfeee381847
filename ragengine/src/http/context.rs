//! `POST /context/assess`.

use axum::response::Response;
use ragengine_client::wire::{AssessContext, ContextAssessment, ErrorDetail};
use ragengine_pipeline::interactions::quality::assess_context_quality;

use super::extract::JsonBody;
use super::reply;
use crate::error::{ApiError, PlainError};

/// Bytes of a context that are assessed as fast as one byte is handled otherwise: its words are counted and stemmed.
const WORK_PER_BYTE: usize = 4;

/// Assesses a context of past interactions: its form, its size, its similarities, and what the word filter would leave
/// of it.
#[utoipa::path(post, path = "/context/assess", tag = "retrieval", request_body = AssessContext, responses(
    (status = 200, description = "The measures.", body = ContextAssessment),
    (status = 422, description = "The body does not match the schema.", body = ErrorDetail),
    (status = 429, description = "Too many reads are waiting.", body = ErrorDetail),
))]
pub async fn assess(JsonBody(request): JsonBody<AssessContext>) -> Result<Response, PlainError> {
    let AssessContext { context, query } = request;
    let weight = context.len().saturating_add(query.len()).saturating_mul(WORK_PER_BYTE);
    let assess = move |_: &_| {
        let assessment = assess_context_quality(&context, &query);
        reply::written(&assessment, context.len())
    };
    Ok(reply::of_bytes(ragengine_compute::run(weight, assess).await.map_err(|error: ApiError| error)?))
}

//! What the endpoints of chats have in common.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;

use super::extract;
use crate::admission::{Held, Permit};
use crate::app::App;
use crate::chat::{Arrival, ChatReply, ChatReplyBody};
use crate::error::ApiError;
use crate::language_model::Origin;
use crate::retrieval::stages::Endpoint;
use crate::telemetry::REQUEST_ID;

/// The header with the id under which an answer can be voted on.
const ANSWER_ID: HeaderName = HeaderName::from_static("x-answer-id");

/// The header that says whether the answer was known: `hit`, `miss` or `bypass`.
const CACHE: HeaderName = HeaderName::from_static("x-cache");

/// Reads the body of a request, and starts its report and its deadline.
///
/// # Errors
///
/// When the body was cut off. There is no report then.
pub(super) async fn arrive(app: &App, endpoint: Endpoint, mut request: Request) -> Result<(Arrival, Bytes), ApiError> {
    let request_id = request.headers().get(REQUEST_ID).cloned().unwrap_or(HeaderValue::from_static("none"));
    let permit = request.extensions_mut().remove::<Permit>();
    let room = request.extensions_mut().remove::<Arc<Held>>();
    let body = extract::body(request).await?;
    Ok((Arrival::new(app, endpoint, Origin { request_id, room }, permit), body))
}

/// The response with an answer.
pub(super) fn respond(ChatReply { answer_id, cache, body }: ChatReply) -> Response {
    let mut response = match body {
        ChatReplyBody::Whole { content_type, body } => ([(header::CONTENT_TYPE, content_type)], body).into_response(),
        ChatReplyBody::Events(events) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            ];
            (headers, Body::from_stream(events)).into_response()
        }
    };
    if let Some(cache) = cache {
        response.headers_mut().insert(CACHE, HeaderValue::from_static(cache));
    }
    if let Some(id) = answer_id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        response.headers_mut().insert(ANSWER_ID, id);
    }
    response
}

//! What a browser wants to be told before it lets a page of another site read a reply: CORS.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::Senders;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, DELETE");

/// What of a reply's head a page may read besides the little that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static("retry-after, x-request-id");

/// How long a browser may remember the answer, in seconds.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("600");

/// Whether a browser asks if a page may send a request.
pub fn is_question(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// That it may, with the headers that it wants to send: `Authorization`, and those of its client.
pub fn answer(question: &Request) -> Response {
    let mut answer = StatusCode::NO_CONTENT.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
    if let Some(wanted) = question.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    answer
}

/// Says on every reply which page may read it: errors are replies, too.
pub async fn share(State(senders): State<Arc<Senders>>, request: Request, next: Next) -> Response {
    let page = senders.allowed_page(request.headers()).cloned();
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(page) = page {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

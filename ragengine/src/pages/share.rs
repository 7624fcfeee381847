//! CORS: the headers that let pages of allowed sites use the API.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::Senders;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, DELETE");

/// Response headers that a page may read, in addition to the standard ones.
const EXPOSED: HeaderValue = HeaderValue::from_static("retry-after, x-answer-id, x-cache, x-request-id");

/// How long a browser may cache a preflight reply, in seconds.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("600");

/// Whether this is a preflight request.
pub fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Answers a preflight request. Allows all requested headers, such as `Authorization`.
pub fn answer(preflight: &Request) -> Response {
    let mut answer = StatusCode::NO_CONTENT.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
    if let Some(wanted) = preflight.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    answer
}

/// Adds CORS headers to every reply, including errors.
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

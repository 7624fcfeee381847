//! The shapes of errors: OpenAI's below `/v1`, `{"detail": …}` elsewhere.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ragengine_client::wire::{ErrorDetail, FieldError};
use ragengine_errors::Logged as _;
use serde_json::{Value, json};

use super::{ApiError, MAX_WORDS};

/// A field's error without the whole of a long value that it quotes.
fn shortened(error: &FieldError) -> FieldError {
    let msg = error.msg.chars().take(MAX_WORDS).collect();
    FieldError { loc: error.loc.clone(), msg, kind: error.kind.clone() }
}

/// What the access log says of a failed request. It travels with the response.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The label.
    pub kind: &'static str,
    /// What is wrong, without the words of others.
    pub words: String,
}

/// An error as the API outside `/v1` shows it: `{"detail": …}`.
#[derive(Debug)]
pub struct PlainError(pub ApiError);

impl<E: Into<ApiError>> From<E> for PlainError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for PlainError {
    fn into_response(self) -> Response {
        let detail = match &self.0 {
            ApiError::Schema(errors) => json!(errors.iter().map(shortened).collect::<Vec<_>>()),
            error => Value::from(error.words()),
        };
        respond(self.0.status(), &self.0, axum::Json(ErrorDetail { detail }))
    }
}

/// An error as OpenAI's API shows it.
#[derive(Debug)]
pub struct OpenAiError(pub ApiError);

impl<E: Into<ApiError>> From<E> for OpenAiError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl OpenAiError {
    /// The body: the upstream's own where it has the right shape already.
    pub fn body(&self) -> Value {
        if let Some(body) = self.0.openai_body() {
            return body.clone();
        }
        let status = self.0.openai_status();
        let kind = match status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::NOT_FOUND => "not_found_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "server_error",
        };
        json!({"error": {"message": self.0.words(), "type": kind, "param": self.0.field(), "code": self.0.kind()}})
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        respond(self.0.openai_status(), &self.0, axum::Json(self.body()))
    }
}

fn respond(status: StatusCode, error: &ApiError, body: impl IntoResponse) -> Response {
    let mut response = (status, error.headers(), body).into_response();
    response.extensions_mut().insert(Failure { kind: error.kind(), words: error.for_log() });
    response
}

/// The shape of errors for a path, for those that no handler makes.
pub fn shaped(path: &str, error: ApiError) -> Response {
    match path.starts_with("/v1/") {
        true => OpenAiError(error).into_response(),
        false => PlainError(error).into_response(),
    }
}

//! The shapes of errors: OpenAI's below `/v1`, `{"detail": …}` elsewhere.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ragengine_client::wire::FieldError;
use ragengine_errors::Logged as _;
use serde_json::{Value, json};

use super::{ApiError, MAX_WORDS};

/// Shortens the message of a field's error, which may quote a long value.
fn shortened(error: &FieldError) -> FieldError {
    let msg = error.msg.chars().take(MAX_WORDS).collect();
    FieldError { loc: error.loc.clone(), msg, kind: error.kind.clone() }
}

/// The error for the access log, as an extension of the response.
#[derive(Debug, Clone)]
pub struct Failure {
    /// [`ApiError::kind`].
    pub kind: &'static str,
    /// The message, without text of callers.
    pub words: String,
}

/// An error in the shape of the API outside `/v1`: `{"detail": …}`.
#[derive(Debug)]
pub struct PlainError(pub ApiError);

impl<E: Into<ApiError>> From<E> for PlainError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl PlainError {
    /// The body.
    pub fn body(&self) -> Value {
        match &self.0 {
            ApiError::Schema(errors) => json!({"detail": errors.iter().map(shortened).collect::<Vec<_>>()}),
            error => json!({"detail": error.words()}),
        }
    }
}

impl IntoResponse for PlainError {
    fn into_response(self) -> Response {
        respond(self.0.status(), &self.0, axum::Json(self.body()))
    }
}

/// An error in the shape of OpenAI's API.
#[derive(Debug)]
pub struct OpenAiError(pub ApiError);

impl<E: Into<ApiError>> From<E> for OpenAiError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl OpenAiError {
    /// The body. An error body of the language model in this shape is passed on unchanged.
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

/// Returns an error in the shape that its path uses. For errors outside handlers.
pub fn shaped(path: &str, error: ApiError) -> Response {
    if path.starts_with("/v1/") { OpenAiError(error).into_response() } else { PlainError(error).into_response() }
}

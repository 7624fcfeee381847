//! Errors of the API. Modules report the class of an error; only this module maps classes to HTTP status codes.

mod places;
mod shapes;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ragengine_client::wire::FieldError;
use ragengine_errors::{Class, Fault, Logged, RetryAfter};
use serde_json::Value;
pub use shapes::{Failure, OpenAiError, PlainError, shaped};

/// The longest message, in characters.
const MAX_WORDS: usize = 1000;

/// Why a request was not served.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Fields of the body or the query do not match the schema.
    #[error("{}", describe(.0))]
    Schema(Vec<FieldError>),
    /// The request matches the schema but is invalid.
    #[error("{0}")]
    InvalidRequest(String),
    /// The path or the resource does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The path does not support the method.
    #[error("{0}")]
    MethodNotAllowed(String),
    /// The limit of concurrent work is reached.
    #[error("{0}")]
    Busy(String),
    /// The server is still loading, or loading failed.
    #[error("the server is not ready: {0}")]
    NotReady(String),
    /// No language model is configured.
    #[error("{0}")]
    NoModel(String),
    /// A bug or failure of the server.
    #[error("internal error: {0}")]
    Internal(String),
    /// The error of a module.
    #[error("{0}")]
    Fault(Box<dyn Fault>),
}

impl<F: Fault> From<F> for ApiError {
    fn from(fault: F) -> Self {
        Self::Fault(Box::new(fault))
    }
}

fn describe(errors: &[FieldError]) -> String {
    let place = |error: &FieldError| {
        let parts = error.loc.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned));
        parts.collect::<Vec<_>>().join(".")
    };
    errors.iter().map(|error| format!("{}: {}", place(error), error.msg)).collect::<Vec<_>>().join("; ")
}

impl ApiError {
    /// The HTTP status outside `/v1`.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Schema(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::InvalidRequest(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotReady(_) | Self::NoModel(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Fault(fault) => status_of(fault.class()),
        }
    }

    /// The HTTP status below `/v1`, where a schema error is a 400, as in OpenAI's API.
    pub fn openai_status(&self) -> StatusCode {
        match self {
            Self::Schema(_) => StatusCode::BAD_REQUEST,
            error => error.status(),
        }
    }

    /// The name for metric labels and the `code` of OpenAI errors.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Schema(_) => "schema",
            Self::InvalidRequest(_) => "meaning",
            Self::NotFound(_) => "not_found",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::Busy(_) => "busy",
            Self::NotReady(_) => "not_ready",
            Self::NoModel(_) => "no_model",
            Self::Internal(_) => "internal",
            Self::Fault(fault) => fault.kind(),
        }
    }

    /// The invalid field of the request, if there is one.
    fn field(&self) -> Option<&str> {
        match self {
            Self::Schema(errors) => errors.first()?.loc.get(1)?.as_str(),
            Self::Fault(fault) => fault.field(),
            _ => None,
        }
    }

    /// The error body of the language model, if it has OpenAI's shape.
    fn openai_body(&self) -> Option<&Value> {
        match self {
            Self::Fault(fault) => fault.openai_body(),
            _ => None,
        }
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::NotReady(_) | Self::Busy(_) => Some(RetryAfter::Seconds(5)),
            Self::Fault(fault) => fault.retry_after(),
            _ => None,
        }
    }

    fn headers(&self) -> HeaderMap {
        let retry_after = self.retry_after().map(|after| match after {
            RetryAfter::Seconds(seconds) => seconds.to_string(),
            RetryAfter::Header(text) => text,
        });
        let retry_after = retry_after.and_then(|text| HeaderValue::from_str(&text).ok());
        let needs_token = matches!(self, Self::Fault(fault) if fault.class() == Class::Unauthorized);
        let scheme = needs_token.then_some(HeaderValue::from_static("Bearer"));
        let header = |name: HeaderName, value: Option<HeaderValue>| Some((name, value?));
        let headers = [header(header::RETRY_AFTER, retry_after), header(header::WWW_AUTHENTICATE, scheme)];
        headers.into_iter().flatten().collect()
    }

    /// The message for the caller, shortened. It may quote the request, so the log uses [`Logged`] instead.
    pub fn words(&self) -> String {
        let words = self.to_string();
        match words.char_indices().nth(MAX_WORDS) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }
}

/// The HTTP status of a class of errors.
fn status_of(class: Class) -> StatusCode {
    match class {
        Class::Invalid => StatusCode::BAD_REQUEST,
        Class::Unauthorized => StatusCode::UNAUTHORIZED,
        Class::Forbidden => StatusCode::FORBIDDEN,
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Lost => StatusCode::REQUEST_TIMEOUT,
        Class::Conflict => StatusCode::CONFLICT,
        Class::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Class::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Class::Misdirected => StatusCode::MISDIRECTED_REQUEST,
        Class::Busy => StatusCode::TOO_MANY_REQUESTS,
        Class::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Class::Upstream => StatusCode::BAD_GATEWAY,
        Class::RefusedUpstream(status) => StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY),
        Class::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Class::Late => StatusCode::GATEWAY_TIMEOUT,
        Class::Full => StatusCode::INSUFFICIENT_STORAGE,
    }
}

impl Logged for ApiError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::Schema(errors) => Some(places::places(errors)),
            Self::Fault(fault) => fault.own_words(),
            Self::Busy(_) | Self::NoModel(_) | Self::Internal(_) => Some(self.to_string()),
            Self::InvalidRequest(_) | Self::NotFound(_) | Self::MethodNotAllowed(_) | Self::NotReady(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "text of a user";

    #[test]
    fn the_log_has_no_text_of_callers() {
        let marker = || MARKER.to_owned();
        for (error, expected) in [
            (ApiError::InvalidRequest(marker()), "14 bytes"),
            (ApiError::NotFound(marker()), "14 bytes"),
            (ApiError::NotReady(marker()), "bytes"),
            (ApiError::MethodNotAllowed(marker()), "14 bytes"),
        ] {
            let words = error.for_log();
            assert!(words.contains(expected) && !words.contains(MARKER), "{error:?}: {words}");
        }
        let own = ApiError::Busy("two copies".to_owned());
        assert_eq!(own.for_log(), own.to_string());
    }
}

//! What callers are told when something goes wrong. This is the only place that knows HTTP status codes: the modules say of which class their
//! errors are.

mod places;
mod shapes;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ragengine_client::wire::FieldError;
use ragengine_errors::{Class, Fault, Logged, RetryAfter};
use serde_json::Value;
pub use shapes::{Failure, OpenAiError, PlainError, shaped};

/// The longest message in characters.
const MAX_WORDS: usize = 1000;

/// Why a request was not served.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The body or the query is not what the API takes, field by field.
    #[error("{}", describe(.0))]
    Schema(Vec<FieldError>),
    /// Well-formed, but it cannot be meant.
    #[error("{0}")]
    Meaning(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The path is there, the method is not.
    #[error("{0}")]
    MethodNotAllowed(String),
    /// There is as much of this work under way as there may be.
    #[error("{0}")]
    Busy(String),
    /// The server is still loading, or cannot load.
    #[error("the server is not ready: {0}")]
    NotReady(String),
    /// No language model is set.
    #[error("{0}")]
    NoModel(String),
    /// The server's own fault.
    #[error("internal error: {0}")]
    Internal(String),
    /// What a module says.
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
    /// The HTTP status, outside `/v1`.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Schema(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Meaning(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotReady(_) | Self::NoModel(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Fault(fault) => status_of(fault.class()),
        }
    }

    /// The HTTP status below `/v1`: what is wrong with a request is always a 400 there.
    pub fn openai_status(&self) -> StatusCode {
        match self {
            Self::Schema(_) => StatusCode::BAD_REQUEST,
            error => error.status(),
        }
    }

    /// A short name for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Schema(_) => "schema",
            Self::Meaning(_) => "meaning",
            Self::NotFound(_) => "not_found",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::Busy(_) => "busy",
            Self::NotReady(_) => "not_ready",
            Self::NoModel(_) => "no_model",
            Self::Internal(_) => "internal",
            Self::Fault(fault) => fault.kind(),
        }
    }

    /// The field of the request that is at fault, where it is one.
    fn field(&self) -> Option<&str> {
        match self {
            Self::Schema(errors) => errors.first()?.loc.get(1)?.as_str(),
            Self::Fault(fault) => fault.field(),
            _ => None,
        }
    }

    /// The language model's own error, where it has the right shape already.
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
            RetryAfter::AsSaid(text) => text,
        });
        let retry_after = retry_after.and_then(|text| HeaderValue::from_str(&text).ok());
        let wants_token = matches!(self, Self::Fault(fault) if fault.class() == Class::Unauthorized);
        let scheme = wants_token.then_some(HeaderValue::from_static("Bearer"));
        let header = |name: HeaderName, value: Option<HeaderValue>| Some((name, value?));
        let headers = [header(header::RETRY_AFTER, retry_after), header(header::WWW_AUTHENTICATE, scheme)];
        headers.into_iter().flatten().collect()
    }

    /// The words for the caller. What a caller sent may be in them, and it may be long. The log has those of [`Logged`].
    pub fn words(&self) -> String {
        let words = self.to_string();
        match words.char_indices().nth(MAX_WORDS) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }
}

/// What HTTP calls a class of errors.
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
            Self::Meaning(_) | Self::NotFound(_) | Self::MethodNotAllowed(_) | Self::NotReady(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: &str = "somebody's words";

    #[test]
    fn nothing_of_others_is_said_unless_it_may_be() {
        let marker = || MARKER.to_owned();
        for (error, expected) in [
            (ApiError::Meaning(marker()), "16 bytes"),
            (ApiError::NotFound(marker()), "16 bytes"),
            (ApiError::NotReady(marker()), "bytes"),
            (ApiError::MethodNotAllowed(marker()), "16 bytes"),
        ] {
            let words = error.for_log();
            assert!(words.contains(expected) && !words.contains(MARKER), "{error:?}: {words}");
        }
        let own = ApiError::Busy("two copies".to_owned());
        assert_eq!(own.for_log(), own.to_string());
    }
}

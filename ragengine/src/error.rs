//! What callers are told when something goes wrong. This is the only place that knows HTTP status codes.

mod logged;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ragengine_client::wire::{ErrorDetail, FieldError};
use ragengine_embedding::Error as EmbeddingError;
use ragengine_pipeline::Rejection;
use serde_json::{Value, json};

use crate::admission::Refused;
use crate::index::IndexError;
use crate::index::archive::ArchiveError;
use crate::index::filter::FilterError;
use crate::index::persisted::PersistedError;
use crate::index::sources::InvalidSync;
use crate::index::store::StoreError;
use crate::llm::LlmError;
use crate::logging::Logged as _;
use crate::pages::Stranger;

/// The longest message in characters.
const MAX_WORDS: usize = 1000;

/// Why a request was not served.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The body or the query is not what the API takes, field by field.
    #[error("{}", describe(.0))]
    Schema(Vec<FieldError>),
    /// A chat request that the algorithm refuses.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// Well-formed, but it cannot be meant.
    #[error("{0}")]
    Meaning(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The request needs a token that it does not have.
    #[error("{0}")]
    Unauthorized(String),
    /// The path is there, the method is not.
    #[error("{0}")]
    MethodNotAllowed(String),
    /// The body is larger than it may be.
    #[error(
        "the request body is larger than {max_bytes} bytes, which is the limit: send it in parts, or raise {setting}"
    )]
    TooLarge {
        /// How large one may be.
        max_bytes: u64,
        /// The setting that says so.
        setting: &'static str,
    },
    /// The body did not arrive in time, or was cut off.
    #[error("{0}")]
    BodyLost(String),
    /// There is as much of this work under way as there may be.
    #[error("{0}")]
    Busy(String),
    /// The server is still loading, or cannot load.
    #[error("the server is not ready: {0}")]
    NotReady(String),
    /// The server is busy.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It may be from a page of another site.
    #[error(transparent)]
    Stranger(#[from] Stranger),
    /// No language model is set.
    #[error("{0}")]
    NoModel(String),
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The embedding model.
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// The language model.
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// The server's own fault.
    #[error("internal error: {0}")]
    Internal(String),
}

fn describe(errors: &[FieldError]) -> String {
    let place = |error: &FieldError| {
        let parts = error.loc.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned));
        parts.collect::<Vec<_>>().join(".")
    };
    errors.iter().map(|error| format!("{}: {}", place(error), error.msg)).collect::<Vec<_>>().join("; ")
}

impl From<InvalidSync> for ApiError {
    fn from(invalid: InvalidSync) -> Self {
        Self::Meaning(invalid.to_string())
    }
}

impl ApiError {
    /// The HTTP status, outside `/v1`.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Schema(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Rejected(_) | Self::Meaning(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyLost(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::NotReady(_) | Self::NoModel(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Refused(refused) => refused_status(refused),
            Self::Stranger(stranger) => stranger_status(*stranger),
            Self::Index(error) => index_status(error),
            Self::Embedding(error) => embedding_status(error),
            Self::Llm(error) => llm_status(error),
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
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
            Self::Rejected(rejection) => rejection.kind(),
            Self::Meaning(_) => "meaning",
            Self::NotFound(_) => "not_found",
            Self::Unauthorized(_) => "unauthorized",
            Self::MethodNotAllowed(_) => "method_not_allowed",
            Self::TooLarge { .. } => "too_large",
            Self::BodyLost(_) => "body_lost",
            Self::Busy(_) => "busy",
            Self::NotReady(_) => "not_ready",
            Self::NoModel(_) => "no_model",
            Self::Refused(refused) => refused.kind(),
            Self::Stranger(stranger) => stranger.kind(),
            Self::Index(error) => error.kind(),
            Self::Embedding(error) => error.kind(),
            Self::Llm(error) => error.kind(),
            Self::Internal(_) => "internal",
        }
    }

    fn headers(&self) -> HeaderMap {
        let retry_after = |seconds: &str| Some((header::RETRY_AFTER, HeaderValue::from_str(seconds).ok()?));
        let header = match self {
            Self::Llm(LlmError::Refused { retry_after: Some(value), .. }) => retry_after(value),
            Self::NotReady(_)
            | Self::Busy(_)
            | Self::Llm(LlmError::WaitedTooLong { .. })
            | Self::Index(
                IndexError::Unavailable { .. }
                | IndexError::ModelMissing { .. }
                | IndexError::NotShown { .. }
                | IndexError::Store(StoreError::Latched),
            ) => retry_after("5"),
            Self::Refused(Refused::Late { .. }) => None,
            Self::Refused(_)
            | Self::Index(IndexError::Superseded(_))
            | Self::Llm(LlmError::QueueFull { .. } | LlmError::ListAwaited { .. })
            | Self::Embedding(EmbeddingError::Overloaded { .. })
            | Self::Index(IndexError::Embedding(EmbeddingError::Overloaded { .. })) => retry_after("1"),
            Self::Unauthorized(_) => Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
            _ => None,
        };
        header.into_iter().collect()
    }

    /// The words for the caller. What a caller sent may be in them, and it may be long. The log has those of [`crate::logging::Logged`].
    pub fn words(&self) -> String {
        let words = self.to_string();
        match words.char_indices().nth(MAX_WORDS) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }

    fn failure(&self) -> Failure {
        Failure { kind: self.kind(), words: self.for_log() }
    }
}

fn refused_status(refused: &Refused) -> StatusCode {
    match refused {
        Refused::QueueFull { .. } | Refused::BodiesFull { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refused::WaitedTooLong { .. } => StatusCode::SERVICE_UNAVAILABLE,
        Refused::Late { .. } => StatusCode::GATEWAY_TIMEOUT,
    }
}

fn stranger_status(stranger: Stranger) -> StatusCode {
    match stranger {
        // Its very meaning: the server does not answer for the name that was asked.
        Stranger::Host | Stranger::NoHost => StatusCode::MISDIRECTED_REQUEST,
        Stranger::Origin => StatusCode::FORBIDDEN,
        Stranger::MediaType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
    }
}

fn index_status(error: &IndexError) -> StatusCode {
    match error {
        IndexError::NoSuchIndex(_) | IndexError::NoGeneration(_) => StatusCode::NOT_FOUND,
        IndexError::Name(_)
        | IndexError::Document { .. }
        | IndexError::SlowDocument { .. }
        | IndexError::Chunking(_) => StatusCode::BAD_REQUEST,
        IndexError::Filter(FilterError::NotAnObject | FilterError::TooLong) => StatusCode::BAD_REQUEST,
        IndexError::TooMany(_) | IndexError::OtherModel { .. } | IndexError::Exists(_) | IndexError::SourceHeld(_) => {
            StatusCode::CONFLICT
        }
        IndexError::ManyIndexes { .. } | IndexError::NotInCopy { .. } => StatusCode::BAD_REQUEST,
        IndexError::Archive(error) => archive_status(error),
        IndexError::Persisted(error) => persisted_status(error),
        IndexError::Embedding(error) => embedding_status(error),
        IndexError::ShuttingDown
        | IndexError::ModelMissing { .. }
        | IndexError::NotShown { .. }
        | IndexError::Superseded(_)
        | IndexError::Unavailable { .. }
        | IndexError::StillChanging => StatusCode::SERVICE_UNAVAILABLE,
        IndexError::Store(error) => store_status(error),
        IndexError::OtherVectors(_) => StatusCode::BAD_GATEWAY,
        IndexError::Vectors(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn store_status(error: &StoreError) -> StatusCode {
    match error {
        StoreError::Full => StatusCode::INSUFFICIENT_STORAGE,
        StoreError::Latched => StatusCode::SERVICE_UNAVAILABLE,
        StoreError::InUse(_)
        | StoreError::Format(_)
        | StoreError::Damaged(_)
        | StoreError::Catalog(_)
        | StoreError::Disk(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn archive_status(error: &ArchiveError) -> StatusCode {
    match error {
        ArchiveError::Foreign | ArchiveError::Newer(_) | ArchiveError::BrokenOff | ArchiveError::Damaged(_) => {
            StatusCode::BAD_REQUEST
        }
        ArchiveError::Read(_) => StatusCode::REQUEST_TIMEOUT,
        ArchiveError::Write(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn persisted_status(error: &PersistedError) -> StatusCode {
    match error {
        PersistedError::Name(_) | PersistedError::Odd(_) => StatusCode::BAD_REQUEST,
        PersistedError::Missing(_) => StatusCode::NOT_FOUND,
        PersistedError::Store(error) => store_status(error),
    }
}

fn embedding_status(error: &EmbeddingError) -> StatusCode {
    match error {
        EmbeddingError::TooLong { .. } => StatusCode::BAD_REQUEST,
        EmbeddingError::Overloaded { .. } => StatusCode::TOO_MANY_REQUESTS,
        EmbeddingError::Stopped => StatusCode::SERVICE_UNAVAILABLE,
        EmbeddingError::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
        EmbeddingError::Upstream { .. } | EmbeddingError::Unreachable { .. } | EmbeddingError::BadReply(_) => {
            StatusCode::BAD_GATEWAY
        }
        EmbeddingError::Configuration(_) | EmbeddingError::Load { .. } | EmbeddingError::Inference(_) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

fn llm_status(error: &LlmError) -> StatusCode {
    match error {
        LlmError::Refused { status, .. } => StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_GATEWAY),
        LlmError::Timeout { .. } | LlmError::Silent { .. } | LlmError::ListTimeout { .. } => {
            StatusCode::GATEWAY_TIMEOUT
        }
        LlmError::QueueFull { .. } | LlmError::WaitedTooLong { .. } | LlmError::ListAwaited { .. } => {
            StatusCode::TOO_MANY_REQUESTS
        }
        LlmError::Unreachable { .. } | LlmError::Elsewhere { .. } | LlmError::Nonsense(_) => StatusCode::BAD_GATEWAY,
    }
}

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
        if let ApiError::Llm(LlmError::Refused { body: Some(body), .. }) = &self.0 {
            return (**body).clone();
        }
        let status = self.0.openai_status();
        let kind = match status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::NOT_FOUND => "not_found_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "server_error",
        };
        let param = match &self.0 {
            ApiError::Rejected(rejection) => rejection.param().map(str::to_owned),
            ApiError::Schema(errors) => errors.first().and_then(|error| error.loc.get(1)?.as_str().map(str::to_owned)),
            _ => None,
        };
        json!({"error": {"message": self.0.words(), "type": kind, "param": param, "code": self.0.kind()}})
    }
}

impl IntoResponse for OpenAiError {
    fn into_response(self) -> Response {
        respond(self.0.openai_status(), &self.0, axum::Json(self.body()))
    }
}

fn respond(status: StatusCode, error: &ApiError, body: impl IntoResponse) -> Response {
    let mut response = (status, error.headers(), body).into_response();
    response.extensions_mut().insert(error.failure());
    response
}

/// The shape of errors for a path, for those that no handler makes.
pub fn shaped(path: &str, error: ApiError) -> Response {
    match path.starts_with("/v1/") {
        true => OpenAiError(error).into_response(),
        false => PlainError(error).into_response(),
    }
}

//! Errors of embedding.

use std::time::Duration;

use crate::lane::Failure;

/// Why texts were not embedded. Errors of locating a model's files are in [`crate::files::Error`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The options contradict each other or the model's files.
    #[error("{0}")]
    Configuration(String),
    /// The model's files are invalid.
    #[error("cannot load the embedding model from {path}: {message}")]
    Load {
        /// The file.
        path: String,
        /// The error.
        message: String,
    },
    /// A passage has more tokens than the model's limit. Passages are never truncated.
    #[error(
        "text {position} has {tokens} tokens, and the embedding model reads at most {max_tokens}: \
         split it into smaller chunks"
    )]
    TooLong {
        /// The position of the text in the request, from 0.
        position: usize,
        /// Number of tokens, including prefix and special tokens.
        tokens: usize,
        /// The model's limit.
        max_tokens: usize,
    },
    /// Running the model failed.
    #[error("the embedding model failed: {0}")]
    Inference(String),
    /// Too many queries are waiting. The caller may retry soon.
    #[error("{waiting} queries are waiting for the embedding model already: try again later")]
    Overloaded {
        /// Maximum number of waiting queries.
        waiting: usize,
    },
    /// The service is shutting down.
    #[error("the embedding model is shutting down")]
    Stopped,
    /// The endpoint replied with an error.
    #[error("the embedding endpoint answered {status}: {message}")]
    Upstream {
        /// The HTTP status.
        status: u16,
        /// The endpoint's message, shortened and without the API key.
        message: String,
    },
    /// The endpoint cannot be reached, or the connection broke.
    #[error("cannot reach the embedding endpoint {url}: {message}")]
    Unreachable {
        /// The address, without query and credentials.
        url: String,
        /// The error.
        message: String,
    },
    /// The endpoint did not reply in time.
    #[error("the embedding endpoint {url} did not answer within {timeout:?}")]
    Timeout {
        /// The address, without query and credentials.
        url: String,
        /// The timeout.
        timeout: Duration,
    },
    /// The endpoint's reply is invalid.
    #[error("the embedding endpoint's reply is invalid: {0}")]
    BadReply(String),
}

impl Error {
    /// A short name for metric labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configuration(_) => "configuration",
            Self::Load { .. } => "load",
            Self::TooLong { .. } => "too_long",
            Self::Inference(_) => "inference",
            Self::Overloaded { .. } => "overloaded",
            Self::Stopped => "stopped",
            Self::Upstream { .. } => "upstream",
            Self::Unreachable { .. } => "unreachable",
            Self::Timeout { .. } => "timeout",
            Self::BadReply(_) => "bad_reply",
        }
    }

    /// Maps the position of a text in its batch to the position in the request.
    pub(crate) fn at_request_positions(self, positions: &[usize]) -> Self {
        match self {
            Self::TooLong { position, tokens, max_tokens } => {
                let position = positions.get(position).copied().unwrap_or(position);
                Self::TooLong { position, tokens, max_tokens }
            }
            other => other,
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Panicked => Self::Inference("the runtime panicked".to_owned()),
            Failure::Full { waiting } => Self::Overloaded { waiting },
            Failure::Stopped => Self::Stopped,
            Failure::NoThread(error) => Self::Configuration(format!("cannot start a thread for embedding: {error}")),
        }
    }
}

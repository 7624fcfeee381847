//! What can go wrong with a text, a model or an endpoint.

use std::time::Duration;

/// Why texts were not embedded. (Where a model's files come from has its own [`crate::files::Error`].)
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The options contradict each other or the model's own files.
    #[error("{0}")]
    Configuration(String),
    /// The model's files are there but cannot be used.
    #[error("cannot load the embedding model from {path}: {message}")]
    Load {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A passage has more tokens than the model can read. Nothing is cut silently.
    #[error(
        "text {position} has {tokens} tokens, and the embedding model reads at most {max_tokens}: split it into smaller chunks"
    )]
    TooLong {
        /// The text's place in the request, from 0.
        position: usize,
        /// Its tokens, with prefix and special tokens.
        tokens: usize,
        /// The model's limit.
        max_tokens: usize,
    },
    /// The model ran and failed.
    #[error("the embedding model failed: {0}")]
    Inference(String),
    /// Too many queries are waiting already; the caller may try again soon.
    #[error("{waiting} queries are waiting for the embedding model already: try again later")]
    Overloaded {
        /// How many may wait.
        waiting: usize,
    },
    /// The service is shutting down.
    #[error("the embedding model is being shut down")]
    Stopped,
    /// The endpoint answered with an error.
    #[error("the embedding endpoint answered {status}: {message}")]
    Upstream {
        /// HTTP status.
        status: u16,
        /// The endpoint's own words, shortened, without the key.
        message: String,
    },
    /// The endpoint cannot be reached, or the connection broke.
    #[error("cannot reach the embedding endpoint {url}: {message}")]
    Unreachable {
        /// The address, without query or credentials.
        url: String,
        /// What happened.
        message: String,
    },
    /// The endpoint took too long.
    #[error("the embedding endpoint {url} did not answer within {timeout:?}")]
    Timeout {
        /// The address, without query or credentials.
        url: String,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// The endpoint's reply cannot be used.
    #[error("the embedding endpoint's reply cannot be used: {0}")]
    BadReply(String),
}

impl Error {
    /// A short name for a metric's label.
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

    /// The same error, with the position of a text mapped from a batch to the request it was cut from.
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

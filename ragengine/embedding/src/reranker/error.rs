use ragengine_errors::{Class, Fault, Logged, RetryAfter};

use crate::lane::Failure;

/// Why passages were not scored. No message has words of a question or a passage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The options contradict each other or the model's files.
    #[error("{0}")]
    Configuration(String),
    /// The model's files are invalid.
    #[error("cannot load the reranker from {path}: {message}")]
    Load {
        /// The file.
        path: String,
        /// The error.
        message: String,
    },
    /// Running the model failed.
    #[error("the reranker failed: {0}")]
    Inference(String),
    /// The model gave a score that is not a number, or is infinite.
    #[error("the reranker gave a score that is not finite")]
    NotFinite,
    /// Too many passages are waiting. The caller may retry soon.
    #[error("{waiting} batches are waiting for the reranker already: try again later")]
    Overloaded {
        /// Maximum number of waiting batches.
        waiting: usize,
    },
    /// The service is shutting down.
    #[error("the reranker is shutting down")]
    Stopped,
}

impl Error {
    /// A short name for metric labels and the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configuration(_) => "configuration",
            Self::Load { .. } => "load",
            Self::Inference(_) => "inference",
            Self::NotFinite => "not_finite",
            Self::Overloaded { .. } => "overloaded",
            Self::Stopped => "stopped",
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Panicked => Self::Inference("the runtime panicked".to_owned()),
            Failure::Full { waiting } => Self::Overloaded { waiting },
            Failure::Stopped => Self::Stopped,
            Failure::NoThread(error) => Self::Configuration(format!("cannot start a thread for the reranker: {error}")),
        }
    }
}

impl Fault for Error {
    fn class(&self) -> Class {
        match self {
            Self::Overloaded { .. } => Class::Busy,
            Self::Stopped => Class::Unavailable,
            Self::Configuration(_) | Self::Load { .. } | Self::Inference(_) | Self::NotFinite => Class::Internal,
        }
    }

    fn kind(&self) -> &'static str {
        self.kind()
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        matches!(self, Self::Overloaded { .. }).then_some(RetryAfter::Seconds(1))
    }
}

impl Logged for Error {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}

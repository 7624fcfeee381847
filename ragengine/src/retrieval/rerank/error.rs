use std::time::Duration;

use ragengine_embedding::reranker;
use ragengine_errors::{Class, Fault as _, Logged};

use crate::language_model::LlmError;

/// Why a model did not put chunks in order. No message has words of a reranker, because it may repeat texts or the key.
#[derive(Debug, thiserror::Error)]
pub enum RerankError {
    /// The language model failed.
    #[error(transparent)]
    LanguageModel(#[from] LlmError),
    /// There is no language model.
    #[error("there is no language model")]
    NoLanguageModel,
    /// The system has no random numbers for the prompt.
    #[error("{0}")]
    Boundary(String),
    /// The reranker answered with an error or a redirect.
    #[error("the reranker answered {status}")]
    Refused {
        /// The HTTP status.
        status: u16,
    },
    /// The reranker cannot be reached, or the connection broke.
    #[error("the reranker cannot be reached: {0}")]
    Unreachable(String),
    /// The cross-encoder in this process failed, or is busy.
    #[error(transparent)]
    Local(#[from] reranker::Error),
    /// The cross-encoder in this process is not loaded. The log says why.
    #[error("the reranker is not loaded")]
    NotLoaded {
        /// Whether it was reported before.
        is_known: bool,
    },
    /// The model took too long.
    #[error("the chunks were not put in order within {} s", .0.as_secs_f32())]
    Late(Duration),
    /// The reply is not one of a reranker.
    #[error("the reply of the reranker cannot be used: {0}")]
    Malformed(String),
    /// The reply names no passage that was sent.
    #[error("the reply names no passage that was sent")]
    Nonsense,
}

impl RerankError {
    /// A short name for the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LanguageModel(error) => error.kind(),
            Self::NoLanguageModel => "no_model",
            Self::Boundary(_) => "internal",
            Self::Refused { .. } => "reranker_refused",
            Self::Unreachable(_) => "reranker_unreachable",
            Self::Local(error) => error.kind(),
            Self::NotLoaded { .. } => "not_loaded",
            Self::Late(_) => "timeout",
            Self::Malformed(_) | Self::Nonsense => "nonsense",
        }
    }

    /// Whether the log says it already.
    pub fn is_known(&self) -> bool {
        matches!(self, Self::NotLoaded { is_known: true })
    }

    /// The outcome of the stage.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Late(_) => "timeout",
            Self::LanguageModel(error) if error.class() == Class::Late => "timeout",
            Self::Malformed(_) | Self::Nonsense | Self::Local(reranker::Error::NotFinite) => "nonsense",
            Self::LanguageModel(_)
            | Self::NoLanguageModel
            | Self::Boundary(_)
            | Self::Refused { .. }
            | Self::Unreachable(_)
            | Self::Local(_)
            | Self::NotLoaded { .. } => "failed",
        }
    }
}

impl Logged for RerankError {
    fn own_words(&self) -> Option<String> {
        match self {
            Self::LanguageModel(error) => error.own_words(),
            error => Some(error.to_string()),
        }
    }
}

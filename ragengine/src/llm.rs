//! The language model: an OpenAI-compatible endpoint, the built-in one, or none.

pub mod address;
pub mod extractive;
mod facts;
pub mod health;
pub mod upstream;

use std::sync::Arc;

use serde_json::Value;
pub use upstream::Upstream;

/// Which language model answers.
pub enum LanguageModel {
    /// An endpoint.
    Upstream(Arc<Upstream>),
    /// The built-in one.
    Extractive,
    /// None: chat is refused, everything else works.
    None,
}

impl LanguageModel {
    /// What is wrong with it, in words, as far as is known. The built-in one has no faults.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Upstream(upstream) => upstream.problem(),
            Self::Extractive | Self::None => None,
        }
    }

    /// Whether it answers. None when nothing is known, or when it is no endpoint.
    pub fn is_up(&self) -> Option<bool> {
        match self {
            Self::Upstream(upstream) => upstream.is_up(),
            Self::Extractive | Self::None => None,
        }
    }
}

/// Why the language model gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// It answered with an error.
    #[error("the language model answered {status}: {message}")]
    Refused {
        /// Its HTTP status.
        status: u16,
        /// Its words.
        message: String,
        /// Its body, when that has the shape of OpenAI's errors.
        body: Option<Box<Value>>,
        /// When it wants to be asked again.
        retry_after: Option<String>,
    },
    /// It took too long.
    #[error(
        "the language model at {url} did not answer within {seconds} s: try again, or raise inferenceService.timeoutSeconds"
    )]
    Timeout {
        /// Its address.
        url: Arc<str>,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Its stream stopped.
    #[error(
        "the language model's stream was silent for {seconds} s: try again, or raise inferenceService.timeoutSeconds"
    )]
    Silent {
        /// How long it was waited for.
        seconds: u64,
    },
    /// Nothing answers at its address, or the connection broke.
    #[error("the language model at {url} cannot be reached: {reason}")]
    Unreachable {
        /// Its address.
        url: Arc<str>,
        /// What happened.
        reason: String,
    },
    /// It is asked as much as it may be.
    #[error(
        "the language model is asked {limit} times at once, which is the limit: try again, or raise inferenceService.maxConcurrentRequests"
    )]
    Busy {
        /// How often at once.
        limit: u32,
    },
    /// Its answer is not one.
    #[error("the language model's answer cannot be used: {0}")]
    Nonsense(String),
}

impl LlmError {
    /// A short name for labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "llm_refused",
            Self::Timeout { .. } | Self::Silent { .. } => "llm_timeout",
            Self::Unreachable { .. } => "llm_unreachable",
            Self::Busy { .. } => "llm_busy",
            Self::Nonsense(_) => "llm_nonsense",
        }
    }
}

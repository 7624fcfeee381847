//! The language model: an OpenAI-compatible endpoint, the built-in one, or none. It is asked by
//! [`LanguageModel::complete`] and [`LanguageModel::stream`], whichever it is.

pub mod address;
mod allowed;
mod answer;
pub mod extractive;
mod facts;
mod fault;
pub mod health;
mod model_list;
mod question;
mod queue;
mod reply;
pub mod upstream;

use std::sync::Arc;
use std::time::Duration;

pub use answer::Answer;
use bytes::Bytes;
pub use model_list::ModelList;
use question::Content;
pub use question::{Origin, Question};
use ragengine_compute::ShuttingDown;
use ragengine_embedding::Error as EmbeddingError;
use ragengine_pipeline::Rejection;
pub use reply::{EventStream, Reply, StreamReply, WholeReply};
use serde_json::Value;
pub use upstream::Upstream;
use upstream::UpstreamReply;

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
    /// Asks for a whole answer.
    ///
    /// # Errors
    ///
    /// [`LlmError`].
    pub async fn complete(&self, question: Question) -> Result<Answer, LlmError> {
        let Question { origin, content } = question;
        match (self, content) {
            (Self::Upstream(upstream), Content::Chat(chat)) => {
                WholeReply(ask(upstream, chat.for_whole(), origin).await?).answer().await
            }
            (Self::Extractive, Content::Quotable(quotable)) => quotable.complete().await,
            _ => Err(LlmError::Missing),
        }
    }

    /// Asks for an answer as a stream of events. [`StreamReply::events`] says what they say. [`StreamReply::pieces`]
    /// are the untouched bytes, for an answer that is passed through.
    ///
    /// # Errors
    ///
    /// [`LlmError`].
    pub async fn stream(&self, question: Question) -> Result<Reply, LlmError> {
        let Question { origin, content } = question;
        match (self, content) {
            (Self::Upstream(upstream), Content::Chat(chat)) => {
                Ok(ask(upstream, chat.for_stream(), origin).await?.into())
            }
            (Self::Extractive, Content::Quotable(quotable)) => Ok(Reply::Stream(quotable.stream().await?)),
            _ => Err(LlmError::Missing),
        }
    }

    /// Whether another server computes its answers.
    pub fn is_endpoint(&self) -> bool {
        matches!(self, Self::Upstream(_))
    }

    /// How long an answer may take: the whole of it, or the time between two pieces of a stream.
    pub fn answer_timeout(&self) -> Duration {
        match self {
            Self::Upstream(upstream) => upstream.answer_timeout(),
            Self::Extractive | Self::None => Duration::MAX,
        }
    }

    /// What is wrong with it, in words, as far as is known. The built-in one has no faults.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Upstream(upstream) => upstream.problem(),
            Self::Extractive | Self::None => None,
        }
    }

    /// Whether a request may ask for this model.
    ///
    /// # Errors
    ///
    /// [`Rejection::Model`], which lists those that it may ask for. The built-in model takes any name.
    pub fn require_allowed<'a>(&self, asked: impl Iterator<Item = &'a str>) -> Result<(), Rejection> {
        match self {
            Self::Upstream(upstream) => upstream.allowed_models().require(asked),
            Self::Extractive | Self::None => Ok(()),
        }
    }

    /// Whether a name that a caller sent is a model's: only those are logged.
    pub fn knows(&self, model: &str) -> bool {
        match self {
            Self::Upstream(upstream) => upstream.knows(model),
            Self::Extractive => model == extractive::MODEL,
            Self::None => false,
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

/// Asks an endpoint. The room for the caller's body is free when the endpoint has the question.
async fn ask(upstream: &Upstream, body: Bytes, origin: Option<Origin>) -> Result<UpstreamReply, LlmError> {
    let reply = upstream.send(body, origin.as_ref().map(|origin| &origin.request_id)).await;
    drop(origin);
    reply
}

/// Why the language model gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
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
    /// It does not say in time which models it has.
    #[error("the language model at {url} did not list its models within {seconds} s: try again")]
    ListTimeout {
        /// Its address.
        url: Arc<str>,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Enough wait already for its first list of models.
    #[error(
        "the language model is slow to list its models, and {waiting} requests wait for that already: try again in a moment"
    )]
    ListAwaited {
        /// How many wait.
        waiting: usize,
    },
    /// It is asked as much as it may be, and as many wait as may.
    #[error(
        "the language model is asked {running} times at once and {waiting} chats wait already: try again in a moment, or raise \
         inferenceService.maxConcurrentRequests or inferenceService.maxWaitingRequests"
    )]
    QueueFull {
        /// How often at once.
        running: u32,
        /// How many may wait.
        waiting: u32,
    },
    /// It is asked as much as it may be, and no turn came in time.
    #[error(
        "the chat waited {seconds} s for its turn with the language model (inferenceService.queueTimeoutSeconds): try again in a moment"
    )]
    WaitedTooLong {
        /// How long.
        seconds: u64,
    },
    /// It answers elsewhere, which is nothing that a caller could follow.
    #[error(
        "the language model's answer cannot be used: it redirects ({status}) to {location}: set inferenceService.url to the address that answers"
    )]
    Elsewhere {
        /// Its HTTP status.
        status: u16,
        /// Where to, without the query.
        location: String,
    },
    /// Its answer is not one.
    #[error("the language model's answer cannot be used: {0}")]
    Nonsense(String),
    /// There is none for such a request.
    #[error("there is no language model for this request: set inferenceService.url")]
    Missing,
    /// The built-in one cannot compare sentences.
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// The server stops.
    #[error(transparent)]
    ShuttingDown(#[from] ShuttingDown),
}

#[cfg(test)]
mod tests;

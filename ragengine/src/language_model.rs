//! The language model: an OpenAI-compatible endpoint, the built-in model, or none. [`LanguageModel::complete`] and
//! [`LanguageModel::stream`] work for all three.

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
mod side_task;
pub mod span;
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
use ragengine_pipeline::stream::UNCHECKED;
pub use reply::{EventStream, Reply, StreamReply, WholeReply};
use serde_json::Value;
pub use side_task::SideTasks;
pub use upstream::Upstream;
use upstream::UpstreamReply;

/// The language model that answers chats.
pub enum LanguageModel {
    /// An OpenAI-compatible endpoint.
    Upstream(Arc<Upstream>),
    /// The built-in model.
    Extractive,
    /// No model: chats are refused, everything else works.
    None,
}

impl LanguageModel {
    /// Requests a whole answer.
    ///
    /// # Errors
    ///
    /// [`LlmError`] if there is no usable answer.
    pub async fn complete(&self, question: Question) -> Result<Answer, LlmError> {
        let Question { origin, content, facts: _ } = question;
        match (self, content) {
            (Self::Upstream(upstream), Content::Chat(chat)) => {
                WholeReply(ask(upstream, chat.for_whole(), origin).await?).answer().await
            }
            (Self::Extractive, Content::Quotable(quotable)) => quotable.complete().await,
            _ => Err(LlmError::Missing),
        }
    }

    /// Requests a streamed answer. [`StreamReply::events`] returns it as typed deltas. [`StreamReply::pieces`] returns
    /// the untouched bytes, for pass-through.
    ///
    /// # Errors
    ///
    /// [`LlmError`] if the stream could not be started.
    pub async fn stream(&self, question: Question) -> Result<Reply, LlmError> {
        let Question { origin, content, facts: _ } = question;
        match (self, content) {
            (Self::Upstream(upstream), Content::Chat(chat)) => {
                Ok(ask(upstream, chat.for_stream(), origin).await?.into())
            }
            (Self::Extractive, Content::Quotable(quotable)) => Ok(Reply::Stream(quotable.stream().await?)),
            _ => Err(LlmError::Missing),
        }
    }

    /// Whether another server computes the answers.
    pub fn is_endpoint(&self) -> bool {
        matches!(self, Self::Upstream(_))
    }

    /// The time limit for a whole answer, or for the time between two pieces of a stream.
    pub fn answer_timeout(&self) -> Duration {
        match self {
            Self::Upstream(upstream) => upstream.answer_timeout(),
            Self::Extractive | Self::None => Duration::MAX,
        }
    }

    /// Describes what is wrong with the language model. None if nothing is known. The built-in model has no faults.
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
    /// [`Rejection::Model`], which lists the allowed models. The built-in model accepts any name.
    pub fn require_allowed<'a>(&self, asked: impl Iterator<Item = &'a str>) -> Result<(), Rejection> {
        match self {
            Self::Upstream(upstream) => upstream.allowed_models().require(asked),
            Self::Extractive | Self::None => Ok(()),
        }
    }

    /// Whether a name from a caller is the name of a model. Other names are not logged.
    pub fn knows(&self, model: &str) -> bool {
        match self {
            Self::Upstream(upstream) => upstream.knows(model),
            Self::Extractive => model == extractive::MODEL,
            Self::None => false,
        }
    }

    /// Whether the endpoint answers. None if nothing is known or the model is not an endpoint.
    pub fn is_up(&self) -> Option<bool> {
        match self {
            Self::Upstream(upstream) => upstream.is_up(),
            Self::Extractive | Self::None => None,
        }
    }
}

/// Sends a chat to an endpoint. The memory reserved for the caller's body is freed once the endpoint has the chat.
async fn ask(upstream: &Upstream, body: Bytes, origin: Option<Origin>) -> Result<UpstreamReply, LlmError> {
    let reply = upstream.send(body, origin.as_ref().map(|origin| &origin.request_id)).await;
    drop(origin);
    reply
}

/// Why the language model gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LlmError {
    /// The endpoint answered with an error.
    #[error("the language model answered {status}: {message}")]
    Refused {
        /// The HTTP status of the endpoint.
        status: u16,
        /// The error message of the endpoint.
        message: String,
        /// The body of the endpoint's error, if it has the shape of OpenAI's errors.
        body: Option<Box<Value>>,
        /// The `Retry-After` header of the endpoint.
        retry_after: Option<String>,
    },
    /// The answer took too long.
    #[error(
        "the language model at {url} did not answer within {seconds} s: try again, or raise \
         inferenceService.timeoutSeconds"
    )]
    Timeout {
        /// The address of the endpoint.
        url: Arc<str>,
        /// The time limit in seconds.
        seconds: u64,
    },
    /// The stream paused for too long.
    #[error(
        "the language model's stream was silent for {seconds} s: try again, or raise inferenceService.timeoutSeconds"
    )]
    Silent {
        /// The time limit in seconds.
        seconds: u64,
    },
    /// The endpoint cannot be reached, or the connection broke.
    #[error("the language model at {url} cannot be reached: {reason}")]
    Unreachable {
        /// The address of the endpoint.
        url: Arc<str>,
        /// The cause, without the address.
        reason: String,
    },
    /// The endpoint did not list its models in time.
    #[error("the language model at {url} did not list its models within {seconds} s: try again")]
    ListTimeout {
        /// The address of the endpoint.
        url: Arc<str>,
        /// The time limit in seconds.
        seconds: u64,
    },
    /// Too many requests already wait for the first list of models.
    #[error(
        "the language model is slow to list its models, and {waiting} requests wait for that already: \
         try again in a moment"
    )]
    ListAwaited {
        /// The number of waiting requests.
        waiting: usize,
    },
    /// The queue is full: the maximum of running and of waiting chats is reached.
    #[error(
        "{running} chats are with the language model and {waiting} are already waiting: try again in a moment, or \
         raise inferenceService.maxConcurrentRequests or inferenceService.maxWaitingRequests"
    )]
    QueueFull {
        /// The maximum of running chats.
        running: u32,
        /// The maximum of waiting chats.
        waiting: u32,
    },
    /// The chat waited too long in the queue.
    #[error(
        "the chat waited {seconds} s for its turn with the language model (inferenceService.queueTimeoutSeconds): \
         try again in a moment"
    )]
    WaitedTooLong {
        /// The time limit in seconds.
        seconds: u64,
    },
    /// The endpoint redirects to another address. Redirects are not followed.
    #[error(
        "the language model's answer cannot be used: it redirects ({status}) to {location}: \
         set inferenceService.url to the address that answers"
    )]
    Elsewhere {
        /// The HTTP status of the endpoint.
        status: u16,
        /// The target of the redirect, without its query.
        location: String,
    },
    /// The answer cannot be used.
    #[error("the language model's answer cannot be used: {0}")]
    Nonsense(String),
    /// No language model is configured for this request.
    #[error("there is no language model for this request: set inferenceService.url")]
    Missing,
    /// The built-in model could not compute embeddings.
    #[error(transparent)]
    Embedding(#[from] EmbeddingError),
    /// The server is shutting down.
    #[error(transparent)]
    ShuttingDown(#[from] ShuttingDown),
}

impl LlmError {
    /// The error without a text that may quote an answer: the message of an endpoint that failed (5xx). An endpoint that
    /// refuses a request (4xx) has not made an answer.
    pub fn without_answer(self) -> Self {
        match self {
            Self::Refused { status: status @ 500.., retry_after, .. } => {
                Self::Refused { status, message: UNCHECKED.to_owned(), body: None, retry_after }
            }
            error => error,
        }
    }
}

#[cfg(test)]
mod tests;

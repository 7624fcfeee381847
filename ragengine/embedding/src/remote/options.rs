//! An endpoint's options.

use std::time::Duration;

use super::BYTES_PER_TOKEN;
use crate::{Error, Secret};

/// Where and how.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// `…/embeddings`, a base such as `https://api.openai.com/v1`, or a bare host.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as `Authorization: Bearer`.
    pub api_key: Option<Secret>,
    /// Asks for vectors of this width, for models that can shorten theirs; every reply must have it.
    pub dimensions: Option<usize>,
    /// Put before a query.
    pub query_prefix: String,
    /// Put before a passage.
    pub passage_prefix: String,
    /// The longest text that the model reads. 8,191 is OpenAI's.
    pub max_tokens: usize,
    /// Texts in one request.
    pub max_batch: usize,
    /// Requests at a time, for queries and for passages each: queries do not wait behind an ingest.
    pub max_in_flight: usize,
    /// Queries that may wait beyond those; one more is [`Error::Overloaded`].
    pub query_queue: usize,
    /// Attempts after the first.
    pub max_retries: u32,
    /// The longest pause between attempts; an endpoint that asks for a longer one is not asked again.
    pub max_retry_wait: Duration,
    /// For one connection.
    pub connect_timeout: Duration,
    /// For one attempt, with its reply.
    pub timeout: Duration,
    /// A longer reply is refused.
    pub max_reply_bytes: usize,
}

impl EndpointOptions {
    /// The defaults for a model at an address.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            api_key: None,
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: 8191,
            max_batch: 64,
            max_in_flight: 4,
            query_queue: 256,
            max_retries: 2,
            max_retry_wait: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(60),
            max_reply_bytes: 64 << 20,
        }
    }

    /// Refuses what could never work.
    pub(super) fn check(&self) -> Result<(), Error> {
        let limits = [
            ("max_batch", self.max_batch),
            ("max_in_flight", self.max_in_flight),
            ("max_reply_bytes", self.max_reply_bytes),
            ("dimensions", self.dimensions.unwrap_or(1)),
        ];
        if let Some((name, _)) = limits.iter().find(|(_, value)| *value == 0) {
            return Err(Error::Configuration(format!("the embedding endpoint's {name} must be at least 1")));
        }
        let prefix_bytes = self.query_prefix.len().max(self.passage_prefix.len());
        if self.max_tokens <= prefix_bytes.div_ceil(BYTES_PER_TOKEN) {
            let message = format!("the embedding endpoint's max_tokens {} leaves no room for a text", self.max_tokens);
            return Err(Error::Configuration(message));
        }
        if self.model.is_empty() {
            return Err(Error::Configuration("the embedding endpoint needs the name of a model".to_owned()));
        }
        Ok(())
    }
}

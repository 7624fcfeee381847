//! The options of an endpoint.

use std::time::Duration;

use super::BYTES_PER_TOKEN;
use crate::{Error, Secret};

/// The options of an embedding endpoint.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// The address: `…/embeddings`, a base such as `https://api.openai.com/v1`, or a bare host.
    pub url: String,
    /// The name of the model.
    pub model: String,
    /// The API key, sent as `Authorization: Bearer`.
    pub api_key: Option<Secret>,
    /// The number of dimensions to request, for models that support several. Every reply must have it.
    pub dimensions: Option<usize>,
    /// Text put before a query.
    pub query_prefix: String,
    /// Text put before a passage.
    pub passage_prefix: String,
    /// Maximum text size in tokens. Default: 8,191, the limit of OpenAI's models.
    pub max_tokens: usize,
    /// Number of texts in one request.
    pub max_batch: usize,
    /// Maximum number of concurrent requests. Queries and passages have separate limits, so that queries do not wait
    /// for an ingest.
    pub max_in_flight: usize,
    /// Maximum number of waiting queries. A further query gets [`Error::Overloaded`].
    pub query_queue: usize,
    /// Maximum number of retries.
    pub max_retries: u32,
    /// Maximum wait between attempts. If an endpoint requests a longer one, the request is not retried.
    pub max_retry_wait: Duration,
    /// The timeout of connecting.
    pub connect_timeout: Duration,
    /// The timeout of one attempt, including its reply.
    pub timeout: Duration,
    /// Maximum length of a reply in bytes.
    pub max_reply_bytes: usize,
}

impl EndpointOptions {
    /// The default options for a model at an address.
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

    /// Checks for invalid options.
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
            return Err(Error::Configuration(
                "the name of the embedding endpoint's model must not be empty".to_owned(),
            ));
        }
        Ok(())
    }
}

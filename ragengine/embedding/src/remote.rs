//! Embeds texts with an endpoint that implements OpenAI's `POST /v1/embeddings`.
//!
//! <https://platform.openai.com/docs/api-reference/embeddings/create>

mod address;
mod options;
mod retry;
mod wire;

use std::sync::OnceLock;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, Url};
use tokio::sync::{Semaphore, SemaphorePermit};

pub use self::options::EndpointOptions;
use self::retry::Policy;
use crate::http::{Body, describe, printable, read_body};
use crate::{Error, Purpose, Secret, Vector};

/// Maximum length of an error's body that is read, in bytes, and of the message that is kept, in characters.
const MAX_ERROR_BYTES: usize = 16 << 10;
const MAX_ERROR_CHARS: usize = 500;

/// Assumed length of a token in bytes. Nearly all tokenizers have longer tokens, so that counts are upper estimates.
const BYTES_PER_TOKEN: usize = 3;

/// A client of an embedding endpoint.
#[derive(Debug)]
pub struct Endpoint {
    options: EndpointOptions,
    url: Url,
    client: Client,
    width: OnceLock<usize>,
    fingerprint: String,
    /// Limits the number of running and waiting queries.
    admitted_queries: Semaphore,
    running_queries: Semaphore,
    running_passages: Semaphore,
}

impl Endpoint {
    /// Creates the client without sending a request.
    ///
    /// # Errors
    ///
    /// [`Error::Configuration`]: the address, the key or a limit is invalid.
    ///
    /// # Panics
    ///
    /// When the process has not installed a rustls provider.
    pub fn new(options: EndpointOptions) -> Result<Self, Error> {
        options.check()?;
        let url = address::embeddings(&options.url)?;
        let client = Client::builder()
            .connect_timeout(options.connect_timeout)
            .timeout(options.timeout)
            // A redirect would turn the POST into a GET, or send the texts to another server.
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(headers(options.api_key.as_ref())?)
            .build()
            .map_err(|error| {
                Error::Configuration(format!("cannot prepare the embedding client: {}", describe(error)))
            })?;
        Ok(Self {
            fingerprint: fingerprint(&options),
            admitted_queries: Semaphore::new(options.max_in_flight + options.query_queue),
            running_queries: Semaphore::new(options.max_in_flight),
            running_passages: Semaphore::new(options.max_in_flight),
            width: OnceLock::new(),
            url,
            client,
            options,
        })
    }

    /// Embeds one word to check the endpoint and to learn the number of dimensions, which is returned.
    ///
    /// # Errors
    ///
    /// Those of [`Self::embed`].
    pub async fn probe(&self) -> Result<usize, Error> {
        let vectors = self.embed(Purpose::Passage, vec!["probe".to_owned()]).await?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    /// Embeds texts. The vectors are in the order of the texts.
    ///
    /// # Errors
    ///
    /// [`Error::TooLong`] for a passage whose estimated tokens exceed the limit (a query is truncated),
    /// [`Error::Overloaded`] for a query if too many wait, [`Error::Upstream`], [`Error::Unreachable`],
    /// [`Error::Timeout`], and [`Error::BadReply`] if the number, order, dimensions or values of the vectors are wrong.
    pub async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vector>, Error> {
        let _admission = self.admit(purpose)?;
        self.check_lengths(purpose, &texts)?;
        let mut texts = texts.into_iter();
        // Batches are built lazily, so that only the texts of running requests are copied.
        let batches = std::iter::from_fn(move || {
            let batch = texts.by_ref().take(self.options.max_batch);
            let batch: Vec<String> = batch.map(|text| self.input(purpose, text)).collect();
            (!batch.is_empty()).then_some(batch)
        });
        let replies: Vec<Vec<Vector>> = stream::iter(batches)
            // The batch is owned, because a closure over a borrowed one makes this future fail the check for `Send` in
            // its callers.
            .map(|batch| async move { self.embed_batch(purpose, &batch).await })
            .buffered(self.options.max_in_flight)
            .try_collect()
            .await?;
        Ok(replies.into_iter().flatten().collect())
    }

    fn admit(&self, purpose: Purpose) -> Result<Option<SemaphorePermit<'_>>, Error> {
        match purpose {
            Purpose::Passage => Ok(None),
            Purpose::Query => self
                .admitted_queries
                .try_acquire()
                .map(Some)
                .map_err(|_| Error::Overloaded { waiting: self.options.query_queue }),
        }
    }

    /// Refuses a passage that is too long before a request is sent.
    fn check_lengths(&self, purpose: Purpose, texts: &[String]) -> Result<(), Error> {
        if purpose == Purpose::Query {
            return Ok(());
        }
        let (prefix_bytes, max_tokens) = (self.options.passage_prefix.len(), self.options.max_tokens);
        let tokens = texts.iter().map(|text| (prefix_bytes + text.len()).div_ceil(BYTES_PER_TOKEN));
        match tokens.enumerate().find(|(_, tokens)| *tokens > max_tokens) {
            Some((position, tokens)) => Err(Error::TooLong { position, tokens, max_tokens }),
            None => Ok(()),
        }
    }

    /// Adds the prefix to a text, and truncates a query at the limit.
    fn input(&self, purpose: Purpose, text: String) -> String {
        let prefix = match purpose {
            Purpose::Query => &self.options.query_prefix,
            Purpose::Passage => &self.options.passage_prefix,
        };
        let mut input = if prefix.is_empty() { text } else { format!("{prefix}{text}") };
        if purpose == Purpose::Query {
            input.truncate(input.floor_char_boundary(self.options.max_tokens.saturating_mul(BYTES_PER_TOKEN)));
        }
        input
    }

    async fn embed_batch(&self, purpose: Purpose, inputs: &[String]) -> Result<Vec<Vector>, Error> {
        let running = match purpose {
            Purpose::Query => &self.running_queries,
            Purpose::Passage => &self.running_passages,
        };
        let _turn = running.acquire().await.map_err(|_| Error::Stopped)?;
        let body = self.send(inputs).await?;
        let (expected, width) = (inputs.len(), self.options.dimensions);
        // Parsing thousands of numbers would block the threads that serve requests.
        let read = tokio::task::spawn_blocking(move || wire::vectors(&body, expected, width));
        let vectors = read.await.map_err(|_| Error::Stopped)?.map_err(Error::BadReply)?;
        self.check_width(&vectors)?;
        Ok(vectors)
    }

    /// Checks that the number of dimensions is that of the first reply of this process.
    fn check_width(&self, vectors: &[Vector]) -> Result<(), Error> {
        let Some(width) = vectors.first().map(Vec::len) else { return Ok(()) };
        let known = *self.width.get_or_init(|| width);
        if width == known {
            return Ok(());
        }
        Err(Error::BadReply(format!(
            "its vectors are {width} wide, but earlier ones were {known}: has the model changed?"
        )))
    }

    /// Sends one request, with retries, and returns the reply's body.
    async fn send(&self, inputs: &[String]) -> Result<Vec<u8>, Error> {
        let request = wire::Request::new(&self.options.model, inputs, self.options.dimensions);
        let policy = Policy { max_retries: self.options.max_retries, max_wait: self.options.max_retry_wait };
        let mut attempt = 0;
        loop {
            let failure = match self.attempt(&request).await {
                Ok(body) => return Ok(body),
                Err(failure) => failure,
            };
            let Some(wait) = policy.wait(attempt, &failure, retry::jitter()) else { return Err(failure.error) };
            tracing::debug!(
                kind = failure.error.kind(),
                ?wait,
                "the embedding endpoint failed; the request is retried"
            );
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, request: &wire::Request<'_>) -> Result<Vec<u8>, retry::Failure> {
        let mut response = self.client.post(self.url.clone()).json(request).send().await.map_err(|e| self.broken(e))?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        match read_body(&mut response, self.options.max_reply_bytes).await.map_err(|e| self.broken(e))? {
            Body::Whole(body) => Ok(body),
            Body::Cut(_) => {
                let limit = self.options.max_reply_bytes;
                Err(retry::Failure::permanent(Error::BadReply(format!("it is longer than {limit} bytes"))))
            }
        }
    }

    fn broken(&self, error: reqwest::Error) -> retry::Failure {
        let url = printable(&self.url);
        if error.is_timeout() {
            return retry::Failure::permanent(Error::Timeout { url, timeout: self.options.timeout });
        }
        retry::Failure::temporary(Error::Unreachable { url, message: describe(error) }, None)
    }

    async fn refusal(&self, mut response: Response) -> retry::Failure {
        let status = response.status();
        let retry_after =
            response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let body = match read_body(&mut response, MAX_ERROR_BYTES).await {
            Ok(Body::Whole(body) | Body::Cut(body)) => body,
            Err(_) => Vec::new(),
        };
        let message = wire::error_message(&body).unwrap_or_else(|| "(no message)".to_owned());
        let message = self.options.api_key.as_ref().map_or_else(|| message.clone(), |key| key.redact(&message));
        let message = message.chars().take(MAX_ERROR_CHARS).collect();
        let error = Error::Upstream { status: status.as_u16(), message };
        if status.as_u16() == 429 || status.is_server_error() {
            return retry::Failure::temporary(error, retry_after.map(Duration::from_secs));
        }
        retry::Failure::permanent(error)
    }

    /// The name of the model.
    pub fn model_id(&self) -> &str {
        &self.options.model
    }

    /// Estimates the number of tokens of a text: three bytes per token.
    pub fn count_tokens(&self, text: &str) -> usize {
        text.len().div_ceil(BYTES_PER_TOKEN)
    }

    /// Maximum text size in tokens, including the prefix.
    pub fn max_tokens(&self) -> usize {
        self.options.max_tokens
    }

    /// Maximum passage size without the prefix, as counted by [`Self::count_tokens`].
    pub fn max_passage_tokens(&self) -> usize {
        self.options.max_tokens - self.count_tokens(&self.options.passage_prefix)
    }

    /// Maximum query size without the prefix, as counted by [`Self::count_tokens`].
    pub fn max_query_tokens(&self) -> usize {
        self.options.max_tokens - self.count_tokens(&self.options.query_prefix)
    }

    /// Number of dimensions: the configured one, or that of the first reply. None before the first reply.
    pub fn dimensions(&self) -> Option<usize> {
        self.options.dimensions.or_else(|| self.width.get().copied())
    }

    /// Vectors are comparable only if their fingerprints are equal: the model's name, the requested number of
    /// dimensions and the prefixes. The address is not included, because a model may move to another server.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

fn headers(api_key: Option<&Secret>) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    if let Some(key) = api_key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| {
            Error::Configuration(
                "the embedding endpoint's key has characters that are not allowed in a header".to_owned(),
            )
        })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn fingerprint(options: &EndpointOptions) -> String {
    let width = options.dimensions.map_or_else(|| "own".to_owned(), |width| width.to_string());
    format!(
        "{} dimensions={width} query_prefix={:?} passage_prefix={:?}",
        options.model, options.query_prefix, options.passage_prefix,
    )
}

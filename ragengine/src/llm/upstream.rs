//! An OpenAI-compatible chat endpoint.

mod endpoint;
mod probe;
mod reply;
mod transport;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use bytes::Bytes;
use endpoint::Endpoint;
use ragengine_embedding::Secret;
use ragengine_settings::InferenceService;
use ragengine_tokenizer::{Tokenizer, openai_window};
pub use reply::UpstreamReply;
use reply::unreachable;
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout_at};
use tracing::warn;
use transport::Transport;

use super::LlmError;
use super::health::Health;

/// The window of a model about which nothing is known.
const DEFAULT_WINDOW_TOKENS: u64 = 4096;

/// The header that names a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// An OpenAI-compatible chat endpoint.
pub struct Upstream {
    endpoint: Arc<Endpoint>,
    transport: Transport,
    /// The headers of every chat.
    headers: HeaderMap,
    model: Option<String>,
    window_tokens: Option<u64>,
    tokenizer: Option<Tokenizer>,
    limits: Limits,
    slots: Arc<Semaphore>,
    health: Health,
    /// How often the endpoint is asked whether it is there.
    probe_period: Option<Duration>,
    /// Wakes whoever asks before the period is over.
    is_in_doubt: Notify,
    has_warned_of_window: AtomicBool,
    has_warned_of_tokenizer: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    answer_timeout: Duration,
    reply_bytes: usize,
    requests: u32,
}

impl Upstream {
    /// Prepares the client and loads the tokenizer; nothing is sent.
    ///
    /// # Errors
    ///
    /// In words, when the address, the key or the tokenizer cannot be used.
    pub fn new(settings: &InferenceService, url: &str, api_key: Option<Secret>) -> Result<Self, String> {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(settings.connect_timeout_seconds))
            .pool_max_idle_per_host(settings.max_idle_connections as usize)
            .pool_idle_timeout(Duration::from_secs(settings.idle_timeout_seconds))
            .tcp_nodelay(true)
            .retry(reqwest::retry::never())
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        let tokenizer = settings.tokenizer.as_deref().map(Tokenizer::from_path).transpose();
        let endpoint = Arc::new(Endpoint::new(http, url, api_key)?);
        Ok(Self {
            transport: Transport::new(settings, &endpoint.addresses.chat, &endpoint.http),
            headers: headers(&endpoint),
            endpoint,
            model: settings.model.clone(),
            window_tokens: settings.context_window_size.map(u64::from),
            tokenizer: tokenizer.map_err(|error| format!("inferenceService.tokenizer: {error}"))?,
            limits: Limits {
                answer_timeout: Duration::from_secs(settings.timeout_seconds),
                reply_bytes: usize::try_from(settings.max_reply_bytes).unwrap_or(usize::MAX),
                requests: settings.max_concurrent_requests,
            },
            slots: Arc::new(Semaphore::new(settings.max_concurrent_requests as usize)),
            health: Health::default(),
            probe_period: (settings.probe_seconds > 0).then(|| Duration::from_secs(settings.probe_seconds)),
            is_in_doubt: Notify::new(),
            has_warned_of_window: AtomicBool::new(false),
            has_warned_of_tokenizer: AtomicBool::new(false),
        })
    }

    /// The model for requests that name none: the one in the settings, else the first that the endpoint lists.
    pub async fn default_model(&self) -> Option<String> {
        match &self.model {
            Some(model) => Some(model.clone()),
            None => self.endpoint.facts().await.first_model,
        }
    }

    /// The context window of a model in tokens: from the settings, else from the endpoint, else what is known of OpenAI's models, else
    /// 4,096.
    pub async fn window_tokens(&self, model: &str) -> u64 {
        if let Some(tokens) = self.window_tokens {
            return tokens;
        }
        let known = self.endpoint.facts().await.window(model).or_else(|| openai_window(model));
        known.unwrap_or_else(|| {
            if !self.has_warned_of_window.swap(true, Ordering::Relaxed) {
                warn!(
                    model,
                    tokens = DEFAULT_WINDOW_TOKENS,
                    "context window unknown; set inferenceService.contextWindowSize"
                );
            }
            DEFAULT_WINDOW_TOKENS
        })
    }

    /// How the tokens of a model are counted: by the tokenizer in the settings, else by OpenAI's own for its models, else estimated.
    pub fn tokenizer(&self, model: &str) -> Tokenizer {
        let known = self.tokenizer.clone().or_else(|| Tokenizer::openai(model));
        known.unwrap_or_else(|| {
            if !self.has_warned_of_tokenizer.swap(true, Ordering::Relaxed) {
                warn!(
                    model,
                    "tokens are estimated at three bytes each; set inferenceService.tokenizer to use more of the window"
                );
            }
            Tokenizer::estimate()
        })
    }

    /// Sends a chat request and waits for the head of the reply. The request id goes along; nothing else of the caller's head does.
    ///
    /// # Errors
    ///
    /// [`LlmError`]: refused with its own status and words, too late, out of reach, asked too often.
    pub async fn send(&self, body: Bytes, request_id: &HeaderValue) -> Result<UpstreamReply, LlmError> {
        let result = self.ask(body, request_id).await;
        self.chat_was(result.as_ref().err());
        result
    }

    async fn ask(&self, body: Bytes, request_id: &HeaderValue) -> Result<UpstreamReply, LlmError> {
        let Limits { answer_timeout, reply_bytes, requests } = self.limits;
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| LlmError::Busy { limit: requests })?;
        let endpoint = &self.endpoint;
        let shown_address = || Arc::clone(&endpoint.addresses.shown);
        let mut headers = self.headers.clone();
        headers.insert(REQUEST_ID, request_id.clone());
        let deadline = Instant::now() + answer_timeout;
        let response = match timeout_at(deadline, self.transport.post(headers, body)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&*error, shown_address())),
            Err(_) => return Err(LlmError::Timeout { url: shown_address(), seconds: answer_timeout.as_secs() }),
        };
        let reply = UpstreamReply {
            response,
            shown_address: shown_address(),
            answer_timeout,
            deadline,
            max_bytes: reply_bytes,
            api_key: endpoint.api_key.clone(),
            slot,
        };
        match reply.response.status() {
            status if status.is_success() => Ok(reply),
            _ => Err(reply.into_refusal().await),
        }
    }

    /// How long an answer may take: the whole of it, or the time between two pieces of a stream.
    pub fn answer_timeout(&self) -> Duration {
        self.limits.answer_timeout
    }

    /// The endpoint's own list of models, for callers that ask for it.
    ///
    /// # Errors
    ///
    /// As for [`Self::send`].
    pub async fn list_models(&self) -> Result<Value, LlmError> {
        let endpoint = &self.endpoint;
        let unreachable = |reason: &str| LlmError::Unreachable {
            url: Arc::clone(&endpoint.addresses.shown),
            reason: reason.to_owned(),
        };
        endpoint.get(&endpoint.addresses.models).await.ok_or_else(|| unreachable("it does not list its models"))
    }
}

fn headers(endpoint: &Endpoint) -> HeaderMap {
    let mut headers = endpoint.authorization();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    headers
}

//! An OpenAI-compatible chat endpoint.

mod endpoint;
mod models;
mod probe;
mod reply;
mod transport;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use bytes::Bytes;
use endpoint::Endpoint;
use models::Listing;
use ragengine_embedding::Secret;
use ragengine_settings::InferenceService;
use ragengine_tokenizer::{Tokenizer, openai_window};
use ragengine_traces::Span;
use reply::unreachable;
pub use reply::{UpstreamReply, without_key};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tracing::warn;
use transport::Transport;

use super::LlmError;
use super::allowed::AllowedModels;
use super::health::Health;
use super::queue::Queue;
use crate::telemetry::REQUEST_ID;
use crate::telemetry::metrics::AdmissionMetrics;
use ragengine_errors::texts;

/// The context window in tokens for a model about which nothing is known.
const DEFAULT_WINDOW_TOKENS: u64 = 4096;

/// An OpenAI-compatible chat endpoint.
pub struct Upstream {
    endpoint: Arc<Endpoint>,
    transport: Transport,
    /// The headers of every chat.
    headers: HeaderMap,
    model: Option<String>,
    allowed: AllowedModels,
    listing: Listing,
    window_tokens: Option<u64>,
    tokenizer: Option<Tokenizer>,
    limits: Limits,
    queue: Queue,
    health: Health,
    /// The time between two health checks of the endpoint.
    probe_period: Option<Duration>,
    /// Wakes the health check before its period is over.
    is_in_doubt: Notify,
    has_warned_of_window: AtomicBool,
    has_warned_of_tokenizer: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    answer_timeout: Duration,
    reply_bytes: usize,
}

impl Upstream {
    /// Prepares the client and loads the tokenizer; nothing is sent.
    ///
    /// # Errors
    ///
    /// A message if the address, the key or the tokenizer is invalid.
    pub fn new(
        settings: &InferenceService,
        url: &str,
        api_key: Option<Secret>,
        metrics: &AdmissionMetrics,
    ) -> Result<Self, String> {
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
            allowed: AllowedModels::new(&settings.models, settings.model.as_ref()),
            listing: Listing::new(metrics),
            window_tokens: settings.context_window_size.map(u64::from),
            tokenizer: tokenizer.map_err(|error| format!("inferenceService.tokenizer: {error}"))?,
            limits: Limits {
                answer_timeout: Duration::from_secs(settings.timeout_seconds),
                reply_bytes: usize::try_from(settings.max_reply_bytes).unwrap_or(usize::MAX),
            },
            queue: Queue::new(settings, metrics),
            health: Health::default(),
            probe_period: (settings.probe_seconds > 0).then(|| Duration::from_secs(settings.probe_seconds)),
            is_in_doubt: Notify::new(),
            has_warned_of_window: AtomicBool::new(false),
            has_warned_of_tokenizer: AtomicBool::new(false),
        })
    }

    /// The model for requests that name none: the configured one, else the first listed model that is allowed.
    pub async fn default_model(&self) -> Option<String> {
        match &self.model {
            Some(model) => Some(model.clone()),
            None => self.allowed.first_of(&self.endpoint.facts().await.models),
        }
    }

    /// The models that callers may request.
    pub fn allowed_models(&self) -> &AllowedModels {
        &self.allowed
    }

    /// Whether the settings or the endpoint name this model, as far as is known.
    pub fn knows(&self, model: &str) -> bool {
        self.model.as_deref() == Some(model)
            || self.allowed.are_few() && self.allowed.includes(model)
            || self.endpoint.has_listed(model)
    }

    /// The model's name for the log. None for a name that only a caller uses.
    fn logged<'a>(&self, model: &'a str) -> Option<&'a str> {
        if self.knows(model) { Some(model) } else { texts::text(model) }
    }

    /// The context window of a model in tokens: from the settings, else from the endpoint, else from the known models
    /// of OpenAI, else 4,096.
    pub async fn window_tokens(&self, model: &str) -> u64 {
        if let Some(tokens) = self.window_tokens {
            return tokens;
        }
        let known = self.endpoint.facts().await.window(model).or_else(|| openai_window(model));
        known.unwrap_or_else(|| {
            if !self.has_warned_of_window.swap(true, Ordering::Relaxed) {
                warn!(
                    model = self.logged(model),
                    tokens = DEFAULT_WINDOW_TOKENS,
                    "context window unknown; set inferenceService.contextWindowSize"
                );
            }
            DEFAULT_WINDOW_TOKENS
        })
    }

    /// The tokenizer of a model: the one in the settings, else OpenAI's for its own models, else an estimate.
    pub fn tokenizer(&self, model: &str) -> Tokenizer {
        let known = self.tokenizer.clone().or_else(|| Tokenizer::openai(model));
        known.unwrap_or_else(|| {
            if !self.has_warned_of_tokenizer.swap(true, Ordering::Relaxed) {
                warn!(
                    model = self.logged(model),
                    "tokens are estimated at three bytes each; set inferenceService.tokenizer to use more of the window"
                );
            }
            Tokenizer::estimate()
        })
    }

    /// Waits for a permit, sends a chat request and waits for the head of the reply. Of the caller's headers, only the
    /// request id is sent.
    ///
    /// # Errors
    ///
    /// [`LlmError`]: refused with the endpoint's status and message, timed out, unreachable, or no permit.
    pub async fn send(&self, body: Bytes, request_id: Option<&HeaderValue>) -> Result<UpstreamReply, LlmError> {
        let result = self.ask(body, request_id).await;
        self.chat_was(result.as_ref().err());
        result
    }

    async fn ask(&self, body: Bytes, request_id: Option<&HeaderValue>) -> Result<UpstreamReply, LlmError> {
        let Limits { answer_timeout, reply_bytes } = self.limits;
        let turn = self.queue.turn().await?;
        let endpoint = &self.endpoint;
        let shown_address = || Arc::clone(&endpoint.addresses.shown);
        let mut headers = self.headers.clone();
        if let Some(request_id) = request_id {
            headers.insert(REQUEST_ID, request_id.clone());
        }
        Span::current().inject(&mut headers);
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
            turn,
        };
        match reply.response.status() {
            status if status.is_success() => Ok(reply),
            _ => Err(reply.into_refusal().await),
        }
    }

    /// The host and the port of the endpoint.
    pub fn host(&self) -> (String, Option<u16>) {
        let url = &self.endpoint.addresses.chat;
        (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default())
    }

    /// The time limit for a whole answer, or for the time between two pieces of a stream.
    pub fn answer_timeout(&self) -> Duration {
        self.limits.answer_timeout
    }
}

fn headers(endpoint: &Endpoint) -> HeaderMap {
    let mut headers = endpoint.authorization();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    headers
}

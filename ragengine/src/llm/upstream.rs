//! An OpenAI-compatible chat endpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use parking_lot::RwLock;
use ragengine_embedding::Secret;
use ragengine_settings::InferenceService;
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::{info, warn};

use super::LlmError;
use super::address::Addresses;
use super::facts::Facts;

/// The window of a model about which nothing is known.
const DEFAULT_WINDOW_TOKENS: u64 = 4096;

/// The largest answer that is not a stream.
const MAX_REPLY_BYTES: usize = 64 << 20;

/// How long the endpoint may take to say what it serves.
const FACTS_TIMEOUT: Duration = Duration::from_secs(5);

/// When the endpoint is asked again, because another model may be served by then.
const FACTS_VALIDITY: Duration = Duration::from_secs(60);

/// When an endpoint that did not say is asked again.
const FACTS_RETRY: Duration = Duration::from_secs(30);

/// An OpenAI-compatible chat endpoint.
pub struct Upstream {
    endpoint: Arc<Endpoint>,
    model: Option<String>,
    window_tokens: Option<u64>,
    answer_timeout: Duration,
    has_warned_of_window: AtomicBool,
}

/// What asking the endpoint takes, and what it said.
struct Endpoint {
    http: reqwest::Client,
    addresses: Addresses,
    api_key: Option<Secret>,
    authorization: Option<HeaderValue>,
    facts: RwLock<Option<(Facts, Instant)>>,
    /// Held by whoever asks the endpoint what it serves.
    asking: Mutex<()>,
}

/// A reply whose head has arrived.
pub struct UpstreamReply {
    response: Response,
    shown_address: String,
    answer_timeout: Duration,
    api_key: Option<Secret>,
}

impl Upstream {
    /// Prepares the client; nothing is sent.
    ///
    /// # Errors
    ///
    /// In words, when the address or the key cannot be used.
    pub fn new(settings: &InferenceService, url: &str, api_key: Option<Secret>) -> Result<Self, String> {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(settings.connect_timeout_seconds))
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        let endpoint = Endpoint {
            http,
            addresses: Addresses::new(url)?,
            authorization: api_key.as_ref().map(bearer).transpose()?,
            api_key,
            facts: RwLock::new(None),
            asking: Mutex::new(()),
        };
        Ok(Self {
            endpoint: Arc::new(endpoint),
            model: settings.model.clone(),
            window_tokens: settings.context_window_size.map(u64::from),
            answer_timeout: Duration::from_secs(settings.timeout_seconds),
            has_warned_of_window: AtomicBool::new(false),
        })
    }

    /// The model for requests that name none: the one in the settings, else the first that the endpoint lists.
    pub async fn default_model(&self) -> Option<String> {
        match &self.model {
            Some(model) => Some(model.clone()),
            None => self.endpoint.facts().await.first_model,
        }
    }

    /// The context window of a model in tokens: from the settings, else from the endpoint, else 4,096.
    pub async fn window_tokens(&self, model: &str) -> u64 {
        if let Some(tokens) = self.window_tokens {
            return tokens;
        }
        self.endpoint.facts().await.window(model).unwrap_or_else(|| {
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

    /// Sends a chat request and waits for the head of the reply. The request id goes along; nothing else of the caller's head does.
    ///
    /// # Errors
    ///
    /// [`LlmError`]: refused with its own status and words, too late, out of reach.
    pub async fn send(&self, body: Bytes, request_id: &HeaderValue) -> Result<UpstreamReply, LlmError> {
        let endpoint = &self.endpoint;
        let shown_address = || endpoint.addresses.shown();
        let request = endpoint
            .http
            .post(endpoint.addresses.chat.clone())
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header("x-request-id", request_id)
            .headers(endpoint.authorization())
            .body(body);
        let response = match timeout(self.answer_timeout, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(unreachable(&error, shown_address(), self.answer_timeout)),
            Err(_) => return Err(LlmError::Timeout { url: shown_address(), seconds: self.answer_timeout.as_secs() }),
        };
        let reply = UpstreamReply {
            response,
            shown_address: shown_address(),
            answer_timeout: self.answer_timeout,
            api_key: endpoint.api_key.clone(),
        };
        match reply.response.status() {
            status if status.is_success() => Ok(reply),
            _ => Err(reply.into_refusal().await),
        }
    }

    /// The endpoint's own list of models, for callers that ask for it.
    ///
    /// # Errors
    ///
    /// As for [`Self::send`].
    pub async fn list_models(&self) -> Result<Value, LlmError> {
        let endpoint = &self.endpoint;
        let unreachable =
            |reason: &str| LlmError::Unreachable { url: endpoint.addresses.shown(), reason: reason.to_owned() };
        endpoint.get(&endpoint.addresses.models).await.ok_or_else(|| unreachable("it does not list its models"))
    }
}

impl Endpoint {
    /// What the endpoint serves. It is asked when nothing is known; later, requests go on with what is known while one task asks.
    async fn facts(self: &Arc<Self>) -> Facts {
        match self.known() {
            Some((facts, asked)) => {
                let validity = if facts.first_model.is_some() { FACTS_VALIDITY } else { FACTS_RETRY };
                if asked.elapsed() >= validity {
                    let endpoint = Arc::clone(self);
                    tokio::spawn(async move { endpoint.ask().await });
                }
                facts
            }
            None => {
                self.ask().await;
                self.known().map(|(facts, _)| facts).unwrap_or_default()
            }
        }
    }

    fn known(&self) -> Option<(Facts, Instant)> {
        self.facts.read().clone()
    }

    /// Asks, unless somebody else does; then it waits for that one when nothing is known.
    async fn ask(&self) {
        let before = self.known().map(|(_, asked)| asked);
        let _asking = match (before, self.asking.try_lock()) {
            (_, Ok(asking)) => asking,
            (None, Err(_)) => self.asking.lock().await,
            (Some(_), Err(_)) => return,
        };
        if self.known().map(|(_, asked)| asked) != before {
            return;
        }
        let (models, props) = tokio::join!(self.get(&self.addresses.models), self.get(&self.addresses.props));
        let facts = Facts::read(&models.unwrap_or_default(), props.as_ref());
        let old = self.known().map(|(facts, _)| facts);
        if old.as_ref() != Some(&facts) {
            info!(
                model = facts.first_model.as_deref().unwrap_or("unknown"),
                "asked the language model's endpoint what it serves"
            );
        }
        // An endpoint that says nothing for a moment still serves what it served.
        let facts = if facts.first_model.is_some() { facts } else { old.unwrap_or(facts) };
        *self.facts.write() = Some((facts, Instant::now()));
    }

    async fn get(&self, url: &Url) -> Option<Value> {
        let request = self.http.get(url.clone()).headers(self.authorization()).timeout(FACTS_TIMEOUT);
        let response = request.send().await.ok()?.error_for_status().ok()?;
        let body = read_bounded(response.bytes_stream(), 4 << 20).await?;
        serde_json::from_slice(&body).ok()
    }

    fn authorization(&self) -> HeaderMap {
        self.authorization.iter().map(|value| (header::AUTHORIZATION, value.clone())).collect()
    }
}

impl UpstreamReply {
    /// The content type that came with it.
    pub fn content_type(&self) -> Option<&HeaderValue> {
        self.response.headers().get(header::CONTENT_TYPE)
    }

    /// Whether it is a stream of events.
    pub fn is_event_stream(&self) -> bool {
        let content_type = self.content_type().and_then(|value| value.to_str().ok());
        content_type.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
    }

    /// The whole body.
    ///
    /// # Errors
    ///
    /// When it does not come in time, breaks off, or is too large.
    pub async fn body(self) -> Result<Bytes, LlmError> {
        let (address, limit) = (self.shown_address, self.answer_timeout);
        match timeout(limit, read_bounded(self.response.bytes_stream(), MAX_REPLY_BYTES)).await {
            Ok(Some(body)) => Ok(body),
            Ok(None) => Err(LlmError::Nonsense(format!("it broke off, or has more than {MAX_REPLY_BYTES} bytes"))),
            Err(_) => Err(LlmError::Timeout { url: address, seconds: limit.as_secs() }),
        }
    }

    /// The body piece by piece. A pause longer than the timeout is an error and the last item.
    pub fn pieces(self) -> impl Stream<Item = Result<Bytes, LlmError>> + Send + 'static {
        let (address, limit) = (self.shown_address, self.answer_timeout);
        let pieces = Box::pin(self.response.bytes_stream());
        futures_util::stream::unfold(Some(pieces), move |state| {
            let address = address.clone();
            async move {
                let mut pieces = state?;
                match timeout(limit, pieces.next()).await {
                    Ok(Some(Ok(piece))) => Some((Ok(piece), Some(pieces))),
                    Ok(Some(Err(error))) => Some((Err(unreachable(&error, address, limit)), None)),
                    Ok(None) => None,
                    Err(_) => Some((Err(LlmError::Timeout { url: address, seconds: limit.as_secs() }), None)),
                }
            }
        })
    }

    async fn into_refusal(self) -> LlmError {
        let status = self.response.status().as_u16();
        let retry_after =
            self.response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let reading = timeout(self.answer_timeout, read_bounded(self.response.bytes_stream(), 1 << 20));
        let text = reading.await.ok().flatten().unwrap_or_default();
        let text = without_key(&String::from_utf8_lossy(&text), self.api_key.as_ref());
        let body: Option<Value> = serde_json::from_str(&text).ok().filter(|body: &Value| body["error"].is_object());
        let said = body.as_ref().and_then(|body| body["error"]["message"].as_str()).map(str::to_owned);
        let message = said.unwrap_or_else(|| text.trim().chars().take(1000).collect());
        // A redirect is nothing that a caller could follow.
        let status = if (300..400).contains(&status) { 502 } else { status };
        LlmError::Refused { status, message, body: body.map(Box::new), retry_after }
    }
}

async fn read_bounded<E>(pieces: impl Stream<Item = Result<Bytes, E>>, max_bytes: usize) -> Option<Bytes> {
    let mut pieces = std::pin::pin!(pieces);
    let mut body = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.ok()?;
        if body.len() + piece.len() > max_bytes {
            return None;
        }
        body.extend_from_slice(&piece);
    }
    Some(body.freeze())
}

/// An endpoint may repeat the key that it was given.
fn without_key(text: &str, api_key: Option<&Secret>) -> String {
    match api_key {
        Some(key) => text.replace(key.expose(), "***"),
        None => text.to_owned(),
    }
}

fn bearer(key: &Secret) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|_| "the key for the language model has characters that no header can hold".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// The innermost reason, without the address: reqwest would print it with its query.
fn unreachable(error: &reqwest::Error, url: String, limit: Duration) -> LlmError {
    if error.is_timeout() && !error.is_connect() {
        return LlmError::Timeout { url, seconds: limit.as_secs() };
    }
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    LlmError::Unreachable { url, reason: reason.to_string() }
}

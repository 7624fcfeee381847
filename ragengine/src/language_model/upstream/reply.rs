use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use http_body_util::BodyDataStream;
use ragengine_embedding::Secret;
use serde_json::Value;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use super::transport::ReplyBody;
use crate::admission::Permit;
use crate::language_model::LlmError;

/// The longest error body that is read, in bytes.
const MAX_REFUSAL_BYTES: usize = 1 << 20;

/// A reply of the endpoint. Its head has arrived, its body may not.
pub struct UpstreamReply {
    pub(super) response: Response<ReplyBody>,
    pub(super) shown_address: Arc<str>,
    pub(super) answer_timeout: Duration,
    /// The deadline for a whole answer. Streams have no deadline.
    pub(super) deadline: Instant,
    pub(super) max_bytes: usize,
    pub(super) api_key: Option<Secret>,
    /// The permit of the chat, which counts as running until its answer has ended.
    pub(super) turn: Permit,
}

impl UpstreamReply {
    /// The content type of the reply.
    pub fn content_type(&self) -> Option<&HeaderValue> {
        self.response.headers().get(header::CONTENT_TYPE)
    }

    /// Whether the reply is an event stream.
    pub fn is_event_stream(&self) -> bool {
        let content_type = self.content_type().and_then(|value| value.to_str().ok());
        content_type.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
    }

    /// The key that was sent, which texts of the endpoint may repeat.
    pub fn api_key(&self) -> Option<&Secret> {
        self.api_key.as_ref()
    }

    /// Reads the whole body.
    ///
    /// # Errors
    ///
    /// [`LlmError`] if the body times out, breaks off, or is too large.
    pub async fn body(self) -> Result<Bytes, LlmError> {
        let (address, limit, max_bytes) = (self.shown_address, self.answer_timeout, self.max_bytes);
        let _turn = self.turn;
        match timeout_at(self.deadline, read_bounded(BodyDataStream::new(self.response.into_body()), max_bytes)).await {
            Ok(Some(body)) => Ok(body),
            Ok(None) => Err(LlmError::Nonsense(format!(
                "it broke off, or has more than {max_bytes} bytes, which is the limit (inferenceService.maxReplyBytes)"
            ))),
            Err(_) => Err(LlmError::Timeout { url: address, seconds: limit.as_secs() }),
        }
    }

    /// The body in pieces, as they arrive. An error is the last item.
    pub fn pieces(self) -> impl Stream<Item = Result<Bytes, LlmError>> + Send + 'static {
        let (address, turn) = (self.shown_address, self.turn);
        BodyDataStream::new(self.response.into_body()).map(move |piece| {
            let _running = &turn;
            piece.map_err(|error| unreachable(&*error, Arc::clone(&address)))
        })
    }

    /// Converts a reply with an error status into an error.
    pub(super) async fn into_refusal(self) -> LlmError {
        let (head, body) = self.response.into_parts();
        let reading = timeout_at(self.deadline, read_bounded(BodyDataStream::new(body), MAX_REFUSAL_BYTES));
        let text = reading.await.ok().flatten().unwrap_or_default();
        refusal(head.status, &head.headers, &text, self.api_key.as_ref())
    }
}

/// The error for a reply with this status.
pub(super) fn refusal(status: StatusCode, headers: &HeaderMap, text: &[u8], api_key: Option<&Secret>) -> LlmError {
    let retry_after = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (message, body) = said(text, api_key);
    let status_code = status.as_u16();
    elsewhere(status, headers).unwrap_or_else(|| LlmError::Refused {
        status: status_code,
        message,
        body: body.map(Box::new),
        retry_after,
    })
}

/// The error for a redirect. Redirects are not followed, because chats are only sent to the configured address.
fn elsewhere(status: StatusCode, headers: &HeaderMap) -> Option<LlmError> {
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("nowhere");
    // The query may contain a key.
    let location = location.split(['?', '#']).next().unwrap_or_default();
    status.is_redirection().then(|| LlmError::Elsewhere { status: status.as_u16(), location: location.to_owned() })
}

/// Reads a body of at most `max_bytes`. None if it is longer or breaks off. A body in one piece is not copied.
pub(super) async fn read_bounded<E>(pieces: impl Stream<Item = Result<Bytes, E>>, max_bytes: usize) -> Option<Bytes> {
    let mut pieces = std::pin::pin!(pieces);
    let mut body = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.ok()?;
        if body.len() + joined.len() + piece.len() > max_bytes {
            return None;
        }
        if body.is_empty() && joined.is_empty() {
            body = piece;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut body));
            joined.extend_from_slice(&piece);
        }
    }
    Some(if joined.is_empty() { body } else { joined.freeze() })
}

/// Removes the key from a text, because an endpoint may repeat the key that it received.
pub fn without_key(text: &str, api_key: Option<&Secret>) -> String {
    match api_key {
        Some(key) => text.replace(key.expose(), "***"),
        None => text.to_owned(),
    }
}

/// Removes the key from every string in a body. JSON can escape a key in many ways, so the raw text is not enough.
fn without_key_inside(body: &mut Value, api_key: Option<&Secret>) {
    match body {
        Value::String(text) => *text = without_key(text, api_key),
        Value::Array(items) => items.iter_mut().for_each(|item| without_key_inside(item, api_key)),
        Value::Object(fields) => fields.values_mut().for_each(|field| without_key_inside(field, api_key)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The message of an error, and its body if that has the shape of OpenAI's errors. Both are without the key.
pub(super) fn said(text: &[u8], api_key: Option<&Secret>) -> (String, Option<Value>) {
    let (text, body) = words_of(&String::from_utf8_lossy(text), api_key);
    let body = body.filter(|body| body["error"].is_object());
    let said = body.as_ref().and_then(|body| body["error"]["message"].as_str()).map(str::to_owned);
    (said.unwrap_or_else(|| text.trim().chars().take(1000).collect()), body)
}

/// The text of an error and its JSON. A JSON text that contains the key is serialized again without it.
fn words_of(text: &str, api_key: Option<&Secret>) -> (String, Option<Value>) {
    let Ok(said) = serde_json::from_str::<Value>(text) else { return (without_key(text, api_key), None) };
    let mut body = said.clone();
    without_key_inside(&mut body, api_key);
    let text = if body == said { text.to_owned() } else { body.to_string() };
    (text, Some(body))
}

/// The error with its innermost cause and without the address, because reqwest prints the query too.
pub(super) fn unreachable(error: &(dyn Error + 'static), url: Arc<str>) -> LlmError {
    let mut reason = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    let reason = if is_connect_timeout(error, reason) {
        "it accepts no connection within inferenceService.connectTimeoutSeconds".to_owned()
    } else {
        reason.to_string()
    };
    LlmError::Unreachable { url, reason }
}

/// Whether a connection timed out, reported by reqwest or by hyper's connector, which uses the error of tokio's timer.
fn is_connect_timeout(error: &(dyn Error + 'static), innermost: &(dyn Error + 'static)) -> bool {
    let by_reqwest =
        error.downcast_ref::<reqwest::Error>().is_some_and(|error| error.is_connect() && error.is_timeout());
    let wrapped = innermost.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    by_reqwest || wrapped.is_some_and(|error| error.is::<Elapsed>())
}

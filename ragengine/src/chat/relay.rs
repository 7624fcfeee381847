//! Passing an upstream's answer on: untouched but for the sources.

use std::convert::Infallible;
use std::pin::Pin;

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use futures_util::{FutureExt as _, StreamExt as _};
use ragengine_pipeline::stream::{Events, data, event, is_finish, with_field};
use tracing::warn;

use super::ChatReply;
use crate::error::{ApiError, OpenAiError};
use crate::llm::LlmError;
use crate::llm::upstream::UpstreamReply;

type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, LlmError>> + Send>>;

/// Passes on an answer that no documents went into.
pub(super) async fn unmarked(reply: UpstreamReply, wants_stream: bool) -> Result<ChatReply, ApiError> {
    match wants_stream && reply.is_event_stream() {
        true => Ok(ChatReply::Events(events(reply, None))),
        false => whole(reply, "null").await,
    }
}

/// Passes on an answer with the documents that went into it: a JSON list.
pub(super) async fn marked(reply: UpstreamReply, wants_stream: bool, sources: String) -> Result<ChatReply, ApiError> {
    match wants_stream && reply.is_event_stream() {
        true => Ok(ChatReply::Events(events(reply, Some(sources)))),
        false => whole(reply, &sources).await,
    }
}

async fn whole(reply: UpstreamReply, sources: &str) -> Result<ChatReply, ApiError> {
    let content_type = reply.content_type().cloned();
    let body = reply.body().await?;
    let nonsense =
        |what: &str| LlmError::Nonsense(format!("{what}: {}", String::from_utf8_lossy(&body[..body.len().min(200)])));
    let text = std::str::from_utf8(&body).map_err(|_| nonsense("it is not text"))?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|_| nonsense("it is not JSON"))?;
    let marked = with_field(text, "source_nodes", sources).ok_or_else(|| nonsense("it is not a JSON object"))?;
    let content_type = content_type.unwrap_or(HeaderValue::from_static("application/json"));
    Ok(ChatReply::Whole { content_type, body: marked.into() })
}

struct Relay {
    pieces: Pieces,
    events: Events,
    /// The sources, when there are some and until they have been sent.
    sources: Option<String>,
}

/// Event by event, as they come, with the sources on the one that carries the finish reason. Of a stream that breaks, the event
/// that was not finished is left out: the error behind it could not be read otherwise.
fn events(reply: UpstreamReply, sources: Option<String>) -> stream::BoxStream<'static, Result<Bytes, Infallible>> {
    let state = Relay { pieces: Box::pin(reply.pieces()), events: Events::default(), sources };
    stream::unfold(Some(state), |state| next_piece(state).map(|next| next.map(|(bytes, state)| (Ok(bytes), state))))
        .boxed()
}

/// Whatever whole events have come, as one piece.
async fn next_piece(state: Option<Relay>) -> Option<(Bytes, Option<Relay>)> {
    let mut state = state?;
    loop {
        let Some(piece) = state.pieces.next().await else {
            let rest = state.events.rest();
            return (!rest.is_empty()).then(|| (Bytes::from(rest), None));
        };
        let pushed =
            piece.and_then(|piece| state.events.push(&piece).map_err(|error| LlmError::Nonsense(error.to_string())));
        if let Err(error) = pushed {
            return Some((broken_stream(error), None));
        }
        let mut ready = Vec::new();
        while let Some(event) = state.events.next_event() {
            ready.extend(mark(event, &mut state.sources));
        }
        if !ready.is_empty() {
            return Some((Bytes::from(ready), Some(state)));
        }
    }
}

fn mark(bytes: Vec<u8>, sources: &mut Option<String>) -> Vec<u8> {
    let marked = match (sources.as_deref(), data(&bytes)) {
        (Some(sources), Some(chunk)) if is_finish(chunk) => with_field(chunk, "source_nodes", sources),
        _ => None,
    };
    match marked {
        Some(chunk) => {
            *sources = None;
            event(&chunk).into_bytes()
        }
        None => bytes,
    }
}

/// The last event of a stream that broke. No `[DONE]` follows it.
fn broken_stream(error: LlmError) -> Bytes {
    warn!(%error, "the stream of an answer broke");
    Bytes::from(event(&OpenAiError(error.into()).body().to_string()))
}

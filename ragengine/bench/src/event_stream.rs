//! Client for streamed answers.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::time::timeout;

use crate::clock;
use crate::upstream::{Departure, Streaming};

/// Maximum pause between two pieces.
const PIECE_TIMEOUT: Duration = Duration::from_secs(60);

const LAST_EVENT: &[u8] = b"data: [DONE]\n\n";

/// A stream that is being read.
pub struct EventStream {
    body: Incoming,
    /// Last bytes of the stream, at most the length of the last event.
    tail: Vec<u8>,
    /// Number of line ends so far. Each event has two.
    line_ends: usize,
}

/// Times of the first event of a stream.
#[derive(Debug, Clone, Copy)]
pub struct First {
    /// Times reported by the upstream.
    pub departure: Departure,
    /// When the client had received the event, from [`clock::monotonic_ns`].
    pub arrived_ns: u64,
}

impl EventStream {
    /// Wraps the body of a response.
    pub fn new(body: Incoming) -> Self {
        Self { body, tail: Vec::new(), line_ends: 0 }
    }

    /// Waits for the first event.
    ///
    /// # Errors
    ///
    /// If the stream ends, breaks or times out before the event, or the event has no times of the upstream.
    pub async fn first(&mut self) -> anyhow::Result<First> {
        let mut text = Vec::new();
        while self.line_ends < 2 {
            text.extend(self.piece().await?.context("the stream ended before its first event")?);
        }
        let arrived_ns = clock::monotonic_ns();
        let departure = departure(&text);
        let departure = departure.with_context(|| format!("the first event: {}", String::from_utf8_lossy(&text)))?;
        Ok(First { departure, arrived_ns })
    }

    /// Reads to the end and returns the number of all events.
    ///
    /// # Errors
    ///
    /// If the stream breaks, times out, or does not end with `[DONE]`.
    pub async fn events(mut self) -> anyhow::Result<usize> {
        while self.piece().await?.is_some() {}
        let end = String::from_utf8_lossy(&self.tail);
        ensure!(self.tail == LAST_EVENT, "the stream does not end with [DONE]: {end}");
        Ok(self.line_ends / 2)
    }

    async fn piece(&mut self) -> anyhow::Result<Option<Bytes>> {
        let frame = timeout(PIECE_TIMEOUT, self.body.frame()).await;
        let Some(frame) = frame.context("timeout while waiting for the next piece of the stream")? else {
            return Ok(None);
        };
        let Ok(piece) = frame?.into_data() else { bail!("the stream has trailers") };
        self.line_ends += piece.iter().filter(|&&byte| byte == b'\n').count();
        self.tail.extend(&piece[piece.len().saturating_sub(LAST_EVENT.len())..]);
        self.tail.drain(..self.tail.len().saturating_sub(LAST_EVENT.len()));
        Ok(Some(piece))
    }
}

/// Reads the times in the first event of these bytes.
fn departure(bytes: &[u8]) -> anyhow::Result<Departure> {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let data = line.strip_prefix(b"data: ").ok_or_else(|| anyhow!("the event has no data"))?;
    let chunk: Value = serde_json::from_slice(data)?;
    Departure::deserialize(&chunk[Streaming::FIELD]).context("the event has no times of the upstream")
}

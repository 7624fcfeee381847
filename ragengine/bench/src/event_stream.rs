//! The client's side of a streamed answer.

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

/// How long the next piece may take.
const PIECE_TIMEOUT: Duration = Duration::from_secs(60);

const LAST_EVENT: &[u8] = b"data: [DONE]\n\n";

/// A stream that is being read.
pub struct EventStream {
    body: Incoming,
    /// Its last bytes, as many as the last event has.
    tail: Vec<u8>,
    /// Line ends so far: each event is a line and an empty one.
    line_ends: usize,
}

/// When the first event came, and when it had left the upstream.
#[derive(Debug, Clone, Copy)]
pub struct First {
    /// What the upstream says.
    pub departure: Departure,
    /// When the client had it, as [`clock::monotonic_ns`].
    pub arrived_ns: u64,
}

impl EventStream {
    /// Reads the body of a reply.
    pub fn new(body: Incoming) -> Self {
        Self { body, tail: Vec::new(), line_ends: 0 }
    }

    /// Waits for the first event.
    ///
    /// # Errors
    ///
    /// When the stream ends or breaks before, or pauses for too long; when the event is not one of the upstream's.
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

    /// Reads to the end, and returns the number of all events.
    ///
    /// # Errors
    ///
    /// When the stream breaks, pauses for too long, or does not end as it should.
    pub async fn events(mut self) -> anyhow::Result<usize> {
        while self.piece().await?.is_some() {}
        let end = String::from_utf8_lossy(&self.tail);
        ensure!(self.tail == LAST_EVENT, "the stream does not end as it should: {end}");
        Ok(self.line_ends / 2)
    }

    async fn piece(&mut self) -> anyhow::Result<Option<Bytes>> {
        let Some(frame) = timeout(PIECE_TIMEOUT, self.body.frame()).await.context("the stream pauses for too long")?
        else {
            return Ok(None);
        };
        let Ok(piece) = frame?.into_data() else { bail!("the stream has trailers") };
        self.line_ends += piece.iter().filter(|&&byte| byte == b'\n').count();
        self.tail.extend(&piece[piece.len().saturating_sub(LAST_EVENT.len())..]);
        self.tail.drain(..self.tail.len().saturating_sub(LAST_EVENT.len()));
        Ok(Some(piece))
    }
}

/// What the first event of these bytes says about itself.
fn departure(bytes: &[u8]) -> anyhow::Result<Departure> {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let data = line.strip_prefix(b"data: ").ok_or_else(|| anyhow!("it has no data"))?;
    let chunk: Value = serde_json::from_slice(data)?;
    Departure::deserialize(&chunk[Streaming::FIELD]).context("it does not tell when it left")
}

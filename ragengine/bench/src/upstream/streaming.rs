//! Streamed answers of the upstream.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt as _, unfold};
use hyper::body::Frame;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::clock;

/// The streamed answer that a request asks for in its field [`Streaming::FIELD`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streaming {
    /// Number of events with a piece of the answer.
    pub tokens: usize,
    /// When the events are sent.
    pub pace: EventPace,
}

/// When the events of a stream are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventPace {
    /// As fast as the client reads them.
    AtOnce,
    /// This number of milliseconds after the previous event, or after the head for the first one.
    EveryMs(u64),
    /// The first event immediately, the others after [`super::Upstream::release`].
    Held,
}

/// Times of the first event of a stream, sent in its field [`Streaming::FIELD`], from [`clock::monotonic_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// When the upstream had received the request.
    pub asked_ns: u64,
    /// When the event was sent.
    pub sent_ns: u64,
}

impl Streaming {
    /// Name of the JSON field in requests and in first events.
    pub const FIELD: &str = "bench";

    /// Reads the settings from a request body. `None` if the body does not request a stream.
    pub fn from_request(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        Self::deserialize(body.get(Self::FIELD)?).ok().filter(|_| body["stream"] == true)
    }

    /// Adds the settings to a chat request.
    pub fn add_to(&self, mut request: Value) -> Value {
        request["stream"] = json!(true);
        request[Self::FIELD] = json!(self);
        request
    }

    /// Number of all events of the stream: the tokens, the end of the answer, `[DONE]`.
    pub fn events(&self) -> usize {
        self.tokens + 2
    }

    /// The events as frames of a body. Held events are sent when `released` becomes true.
    pub fn frames(
        self,
        asked_ns: u64,
        released: watch::Receiver<bool>,
    ) -> BoxStream<'static, Result<Frame<Bytes>, Infallible>> {
        let token = event(&chunk(json!({"content": " filter"}), Value::Null));
        let pauses = match self.pace {
            EventPace::AtOnce => Pauses::None,
            EventPace::EveryMs(milliseconds) => Pauses::Regular(ticks(Duration::from_millis(milliseconds))),
            EventPace::Held => Pauses::AfterFirst(released),
        };
        let next = move |(number, mut pauses): (usize, Pauses)| {
            let token = token.clone();
            async move {
                pauses.wait_before(number).await;
                let bytes = match number {
                    0 => first(asked_ns),
                    _ if number < self.tokens => token,
                    _ if number == self.tokens => event(&chunk(json!({}), json!("stop"))),
                    _ if number == self.tokens + 1 => Bytes::from_static(b"data: [DONE]\n\n"),
                    _ => return None,
                };
                Some((Ok(Frame::data(bytes)), (number + 1, pauses)))
            }
        };
        unfold((0, pauses), next).boxed()
    }
}

enum Pauses {
    None,
    Regular(Interval),
    AfterFirst(watch::Receiver<bool>),
}

impl Pauses {
    async fn wait_before(&mut self, number: usize) {
        match self {
            Self::Regular(interval) => drop(interval.tick().await),
            // An error means that the upstream was dropped: stop waiting.
            Self::AfterFirst(released) if number == 1 => drop(released.wait_for(|is_released| *is_released).await),
            Self::None | Self::AfterFirst(_) => {}
        }
    }
}

fn ticks(period: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + period, period);
    // Otherwise the events after a delay are sent together, which costs less than sending them separately.
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

fn first(asked_ns: u64) -> Bytes {
    let mut chunk = chunk(json!({"role": "assistant", "content": "The"}), Value::Null);
    chunk[Streaming::FIELD] = json!(Departure { asked_ns, sent_ns: clock::monotonic_ns() });
    event(&chunk)
}

fn chunk(delta: Value, finish_reason: Value) -> Value {
    json!({
        "id": "chatcmpl-7f3c1d",
        "object": "chat.completion.chunk",
        "created": 1_767_225_600,
        "model": "bench",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}],
    })
}

fn event(chunk: &Value) -> Bytes {
    Bytes::from(format!("data: {chunk}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_a_request() {
        for pace in [EventPace::AtOnce, EventPace::EveryMs(7), EventPace::Held] {
            let streaming = Streaming { tokens: 3, pace };
            let body = streaming.add_to(json!({"model": "m"}));
            assert_eq!(Streaming::from_request(body.to_string().as_bytes()), Some(streaming));
        }
        let whole = json!({"stream": false, "bench": {"tokens": 3, "pace": "AtOnce"}});
        assert_eq!(Streaming::from_request(whole.to_string().as_bytes()), None);
        assert_eq!(Streaming::from_request(b"{\"stream\": true}"), None);
        assert_eq!(Streaming::from_request(b"{"), None);
    }
}

//! An answer as a stream of events.

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
    /// Events with a piece of the answer each.
    pub tokens: usize,
    /// When they leave.
    pub pace: Pace,
}

/// When the events of a stream leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pace {
    /// As fast as they are taken.
    AtOnce,
    /// So many milliseconds after the one before; the first one after the head.
    EveryMs(u64),
    /// The first at once, the others when the upstream is told to release them.
    Held,
}

/// What the first event of a stream tells about itself, in its field [`Streaming::FIELD`]: times of [`clock::monotonic_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// When the upstream had the request.
    pub asked_ns: u64,
    /// When the event left.
    pub sent_ns: u64,
}

impl Streaming {
    /// The name of the field.
    pub const FIELD: &str = "bench";

    /// What a body asks for, if it asks for a stream.
    pub fn of(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        Self::deserialize(body.get(Self::FIELD)?).ok().filter(|_| body["stream"] == true)
    }

    /// A chat request that asks for it.
    pub fn asked_for_by(&self, mut request: Value) -> Value {
        request["stream"] = json!(true);
        request[Self::FIELD] = json!(self);
        request
    }

    /// All events of the stream: the tokens, the end of the answer, `[DONE]`.
    pub fn events(&self) -> usize {
        self.tokens + 2
    }

    /// The events as frames of a body. `released` becomes true when held ones may go.
    pub fn frames(
        self,
        asked_ns: u64,
        released: watch::Receiver<bool>,
    ) -> BoxStream<'static, Result<Frame<Bytes>, Infallible>> {
        let token = event(&chunk(json!({"content": " filter"}), Value::Null));
        let pauses = match self.pace {
            Pace::AtOnce => Pauses::None,
            Pace::EveryMs(milliseconds) => Pauses::Regular(ticks(Duration::from_millis(milliseconds))),
            Pace::Held => Pauses::AfterFirst(released),
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
            // Without an upstream there is nobody to wait for.
            Self::AfterFirst(released) if number == 1 => drop(released.wait_for(|is_released| *is_released).await),
            Self::None | Self::AfterFirst(_) => {}
        }
    }
}

fn ticks(period: Duration) -> Interval {
    let mut interval = interval_at(Instant::now() + period, period);
    // After a delay the next ones would come together otherwise, and cost less than apart.
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
    fn a_request_says_what_it_wants() {
        for pace in [Pace::AtOnce, Pace::EveryMs(7), Pace::Held] {
            let streaming = Streaming { tokens: 3, pace };
            let body = streaming.asked_for_by(json!({"model": "m"}));
            assert_eq!(Streaming::of(body.to_string().as_bytes()), Some(streaming));
        }
        let whole = json!({"stream": false, "bench": {"tokens": 3, "pace": "AtOnce"}});
        assert_eq!(Streaming::of(whole.to_string().as_bytes()), None);
        assert_eq!(Streaming::of(b"{\"stream\": true}"), None);
        assert_eq!(Streaming::of(b"{"), None);
    }
}

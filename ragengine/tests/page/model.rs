//! The scripted language model.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, BoxStream, Stream, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::upstream::{Upstream, completion, delta, finish, json_reply};

/// The question that it makes of every follow-up.
pub const CONDENSED: &str = "When is the annual tax return due?";

/// What it does with a question.
pub enum Does {
    /// Streams an answer.
    Answers(String),
    /// Streams the first text, and the second when the test lets it continue.
    Waits(String, String),
    /// Refuses with this status.
    Refuses(u16),
    /// Streams this text, and the connection breaks when the test lets it continue.
    Breaks(String),
}

/// A language model whose answers depend on the question.
pub struct Model {
    pub upstream: Upstream,
    gate: Arc<Semaphore>,
}

impl Model {
    /// A language model that does what the script says for the text of the last message.
    pub async fn scripted(script: impl Fn(&str) -> Does + Send + Sync + 'static) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let opened = Arc::clone(&gate);
        let upstream = Upstream::scripted(move |body| {
            let messages = body["messages"].as_array().unwrap();
            if messages[0]["content"].as_str().unwrap_or_default().starts_with("Rewrite the last question") {
                return whole(CONDENSED);
            }
            does(script(messages.last().unwrap()["content"].as_str().unwrap()), &opened)
        })
        .await;
        Self { upstream, gate }
    }

    /// A language model that always gives this answer.
    pub async fn answering(answer: &str) -> Self {
        let answer = answer.to_owned();
        Self::scripted(move |_| Does::Answers(answer.clone())).await
    }

    /// Lets one answer that waits go on.
    pub fn go_on(&self) {
        self.gate.add_permits(1);
    }
}

fn does(what: Does, gate: &Arc<Semaphore>) -> Response {
    match what {
        Does::Answers(text) => streamed(stream::iter(pieces(&text)).chain(ended()).boxed()),
        Does::Waits(first, then) => {
            let rest = opened(gate).flat_map(move |()| stream::iter(pieces(&then)));
            streamed(stream::iter(pieces(&first)).chain(rest).chain(ended()).boxed())
        }
        Does::Refuses(status) => json_reply(status, &json!({"error": {"message": "The model is out of memory."}})),
        Does::Breaks(text) => {
            let broken = opened(gate).map(|()| Err(io::Error::other("broken")));
            streamed(stream::iter(pieces(&text)).chain(broken).boxed())
        }
    }
}

/// Ends when the gate lets it pass.
fn opened(gate: &Arc<Semaphore>) -> impl Stream<Item = ()> + Send + 'static {
    let gate = Arc::clone(gate);
    stream::once(async move { gate.acquire().await.unwrap().forget() })
}

/// A reply in one piece.
fn whole(text: &str) -> Response {
    let mut reply = completion(text);
    reply["choices"][0]["finish_reason"] = Value::from("stop");
    json_reply(200, &reply)
}

/// A text in pieces of a few characters, as models send them.
fn pieces(text: &str) -> Vec<io::Result<String>> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(9).map(|piece| Ok(delta(&piece.iter().collect::<String>()))).collect()
}

/// The end of a stream.
fn ended() -> BoxStream<'static, io::Result<String>> {
    stream::iter([Ok(finish()), Ok("data: [DONE]\n\n".to_owned())]).boxed()
}

fn streamed(events: BoxStream<'static, io::Result<String>>) -> Response {
    ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
}

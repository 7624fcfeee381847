//! Grounded answers: `POST /chat`, `POST /search`, and citations and post-processing on all endpoints of chats.

mod citations;
mod models;
mod prompt;
mod streams;

use axum::response::Response;
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, json_reply};
use crate::support::{FACTS, Reply, Server};

/// A server with an index `docs`, and a language model that answers with `text`.
async fn answering(text: &'static str, yaml: &str) -> (Server, Upstream) {
    let upstream = Upstream::scripted(move |_| reply(text)).await;
    (with(&upstream, yaml).await, upstream)
}

/// A server with an index `docs` and this language model, which is not asked to rewrite questions.
async fn with(upstream: &Upstream, yaml: &str) -> Server {
    let endpoints = if yaml.contains("endpoints:") { "" } else { "endpoints: {chat: {reformulate: false}}\n" };
    let distance = if yaml.contains("retrieval:") { "" } else { "retrieval: {maxDistance: 1.1}\n" };
    let settings = format!("inferenceService: {{url: '{}'}}\n{endpoints}{distance}{yaml}", upstream.url);
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    server
}

/// A whole reply of the language model that ended by itself.
fn reply(text: &str) -> Response {
    let mut reply = completion(text);
    reply["choices"][0]["finish_reason"] = json!("stop");
    json_reply(200, &reply)
}

async fn chat(server: &Server, body: Value) -> Reply {
    server.post("/chat", &body).await
}

/// The names and data of typed events.
fn typed_events(text: &str) -> Vec<(String, Value)> {
    let event = |event: &str| {
        let (name, data) = event.strip_prefix("event: ")?.split_once("\ndata: ")?;
        Some((name.to_owned(), serde_json::from_str(data).unwrap()))
    };
    text.split("\n\n").filter_map(event).collect()
}

//! Questions of a conversation: `POST /query`, `GET /chat/history/{session_id}` and `POST /chat/clear`.

mod cut_off;
mod history;
mod shapes;
pub(crate) mod stores;

use axum::response::Response;
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, json_reply};
use crate::support::{FACTS, Reply, Server};

const SESSION: &str = "session-1";

/// The question that the scripted language model makes of a follow-up.
const CONDENSED: &str = "How much is the fee for a late annual tax return?";

/// A reply of the scripted language model: to a side task, or `answer`.
fn replying(body: &Value, answer: &str) -> Response {
    let system = body["messages"][0]["content"].as_str().unwrap_or_default();
    let text = if system.starts_with("Rewrite the last question") { CONDENSED } else { answer };
    let mut reply = completion(text);
    reply["choices"][0]["finish_reason"] = json!("stop");
    json_reply(200, &reply)
}

/// A server with an index `docs`, and its language model, which answers with the number of messages that it got.
async fn conversation(yaml: &str) -> (Server, Upstream) {
    let upstream = Upstream::scripted(|body| {
        let messages = body["messages"].as_array().map_or(0, Vec::len);
        replying(&body, &format!("Answer to {messages} messages [1]."))
    })
    .await;
    let server = Server::start(&settings(&upstream, yaml)).await;
    server.add("docs", &FACTS).await;
    (server, upstream)
}

fn settings(upstream: &Upstream, more: &str) -> String {
    let distance = if more.contains("retrieval:") { "" } else { "retrieval: {maxDistance: 1.1}\n" };
    format!("inferenceService: {{url: '{}'}}\n{distance}{more}", upstream.url)
}

async fn query(server: &Server, session: &str, question: &str) -> Value {
    query_reply(server, json!({"query": question, "session_id": session})).await.ok()
}

async fn query_reply(server: &Server, body: Value) -> Reply {
    server.post("/query", &body).await
}

/// The contents of the messages of a session, with their roles.
async fn messages(server: &Server, session: &str) -> Vec<(String, String)> {
    let history = server.get(&format!("/chat/history/{session}")).await.ok();
    assert_eq!(history["session_id"], session);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let messages = history["messages"].as_array().unwrap().iter();
    messages.map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

/// The messages of the last question to the language model.
fn last_prompt(upstream: &Upstream) -> Vec<Value> {
    upstream.last().json()["messages"].as_array().unwrap().clone()
}

/// The events of a stream: their types and data.
fn typed_events(text: &str) -> Vec<(String, Value)> {
    let event = |event: &str| {
        let (kind, data) = event.split_once('\n')?;
        let data = serde_json::from_str(data.strip_prefix("data: ")?).unwrap();
        Some((kind.strip_prefix("event: ")?.to_owned(), data))
    };
    text.split("\n\n").filter_map(event).collect()
}

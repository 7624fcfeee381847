//! The server's own work for a chat holds a permit and has one time limit.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::{FACTS, Server, ask};

const QUESTION: &str = "When is the annual tax return due?";

/// A sentence that the built-in model embeds separately to compare it with the question. No document equals it.
const SENTENCE: &str = "The annual tax return is due on the last day of May.";

/// A server whose embedder delays the question and the sentences of the answer by so many milliseconds.
async fn server(question_ms: u64, sentences_ms: u64) -> (Server, RemoteEmbedder) {
    let embedder = RemoteEmbedder::scripted(move |inputs| {
        let delay_ms = if inputs.iter().any(|text| text == QUESTION) {
            question_ms
        } else if inputs.iter().any(|text| text == SENTENCE) {
            sentences_ms
        } else {
            0
        };
        delayed(reply(&inputs, |text| words(text, 64)), delay_ms)
    })
    .await;
    let settings = embedder.settings("m", "limits: {readTimeoutSeconds: 2}\nchat: {keepAliveSeconds: 1}");
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    (server, embedder)
}

/// The same response, with its body delayed.
fn delayed(response: Response, delay_ms: u64) -> Response {
    let (head, body) = response.into_parts();
    let late = futures_util::stream::once(async move {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        axum::body::to_bytes(body, usize::MAX).await
    });
    Response::from_parts(head, Body::from_stream(late))
}

fn streamed(body: &Value) -> Value {
    let mut body = body.clone();
    body["stream"] = json!(true);
    body
}

#[tokio::test]
async fn a_slow_answer_of_the_built_in_model_times_out_whole_and_streamed() {
    let (server, _embedder) = server(0, 60_000).await;
    let body = ask("docs", QUESTION);
    for body in [body.clone(), streamed(&body)] {
        let request = server.request("/v1/chat/completions").body(Bytes::from(body.to_string()));
        let late = tokio::spawn(Server::reply(request));
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let metrics = server.get("/metrics").await.text;
        assert!(metrics.contains("ragengine_requests_running{work=\"chat\"} 1"), "the permit is held: {metrics}");
        assert!(late.await.unwrap().error(504).contains("limits.readTimeoutSeconds"));
    }
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains("ragengine_requests_running{work=\"chat\"} 0"), "{metrics}");
    assert!(metrics.contains("ragengine_requests_refused_total{reason=\"late\",work=\"chat\"} 2"), "{metrics}");
}

#[tokio::test]
async fn the_question_and_the_answer_share_one_time_limit() {
    let (server, _embedder) = server(1300, 1300).await;
    let late = server.post("/v1/chat/completions", &ask("docs", QUESTION)).await;
    assert!(late.error(504).contains("limits.readTimeoutSeconds"));
}

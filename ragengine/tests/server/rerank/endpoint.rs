//! A reranker at an address.

use std::io::Write as _;
use std::time::Duration;

use axum::response::Response;
use ragengine::app::StageTimeouts;
use serde_json::{Value, json};

use super::{QUESTION, chat, counted, order};
use crate::support::upstream::{Received, Upstream, json_reply, late_reply, text_reply};
use crate::support::{FACTS, Server, outcome};

/// Makes a reply.
type Script = Box<dyn Fn() -> Response + Send + Sync>;

/// The settings of a server with the built-in model, which needs no language model to put chunks in order. The address
/// is the only one that the fake server has for requests.
fn settings(reranker: &Upstream, more: &str) -> String {
    format!(
        "retrieval: {{maxDistance: 4}}\nendpoints: {{completions: {{rerank: always}}}}\n\
         rerank: {{backend: endpoint, url: '{}/chat/completions'{more}}}",
        reranker.url
    )
}

fn cohere(scores: &[f64]) -> Value {
    let scored = |(index, score): (usize, &f64)| json!({"index": index, "relevance_score": score});
    json!({"id": "r", "results": scores.iter().enumerate().map(scored).collect::<Vec<_>>()})
}

fn sent(received: &[Received]) -> Vec<Value> {
    received.iter().map(Received::json).collect()
}

#[tokio::test]
async fn a_reranker_with_the_api_of_cohere() {
    let reranker = Upstream::scripted(|_| json_reply(200, &cohere(&[0.1, 0.2, 0.3, 0.4, 0.5]))).await;
    let mut key = tempfile::NamedTempFile::new().unwrap();
    writeln!(key, "rk-1").unwrap();
    let more = format!(", model: cross, apiKey: {{file: '{}'}}", key.path().display());
    let server = Server::start(&settings(&reranker, &more)).await;
    let long = format!("{} {}", FACTS[3].1, "This is known to all. ".repeat(200));
    let documents = FACTS.map(|(doc_id, text)| (doc_id, if doc_id == "tax" { long.as_str() } else { text }));
    server.add("docs", &documents).await;
    let plain = chat(&server, QUESTION, json!({"rerank": "never"})).await;
    let mut expected = order(&plain);
    let count = expected.len();
    let reply = chat(&server, QUESTION, Value::Null).await;
    expected[..5].reverse();
    assert_eq!((order(&reply), outcome(&reply, "rerank")), (expected, "done".to_owned()));
    let received = reranker.received();
    assert_eq!((received.len(), &received[0].headers["authorization"]), (1, &"Bearer rk-1".parse().unwrap()));
    let body = received[0].json();
    assert_eq!(body.as_object().unwrap().len(), 4, "{body}");
    assert_eq!((&body["model"], &body["query"], &body["top_n"]), (&json!("cross"), &json!(QUESTION), &json!(count)));
    let lengths = body["documents"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().chars().count());
    assert!(lengths.max().unwrap() <= 2000);
}

#[tokio::test]
async fn a_reranker_with_the_api_of_tei() {
    let reranker = Upstream::scripted(|body| match body["texts"].as_array() {
        None => text_reply(422, "missing field `texts`"),
        Some(texts) => {
            let scored = |(index, text): (usize, &Value)| {
                json!({"index": index, "score": if text.to_string().contains("moon") { 0.9 } else { -1.5 }})
            };
            json_reply(200, &texts.iter().enumerate().map(scored).collect())
        }
    })
    .await;
    let server = Server::start(&settings(&reranker, "")).await;
    server.add("docs", &FACTS).await;
    for _ in 0..2 {
        assert_eq!(order(&chat(&server, QUESTION, Value::Null).await)[..2], ["moon", "tax"]);
    }
    // Once its API is known, it is asked once.
    let sent = sent(&reranker.received());
    assert_eq!((sent.len(), sent[0].get("texts"), sent[1].get("documents")), (3, None, None));
    assert_eq!((&sent[1]["truncate"], sent[1].as_object().unwrap().len(), &sent[1]), (&json!(true), 3, &sent[2]));
}

#[tokio::test]
async fn a_reranker_that_fails_leaves_the_order() {
    let timeouts = StageTimeouts { rerank: Duration::from_millis(300), ..StageTimeouts::default() };
    let elsewhere = Upstream::friendly().await;
    let target = format!("{}/chat/completions", elsewhere.url);
    let redirect = move || {
        let mut reply = text_reply(307, "");
        reply.headers_mut().insert("location", target.parse().unwrap());
        reply
    };
    let scripts: [(Script, &str); 6] = [
        (Box::new(|| text_reply(500, "out of memory")), "failed"),
        (Box::new(|| text_reply(422, "neither API")), "failed"),
        (Box::new(redirect), "failed"),
        (Box::new(late_reply), "timeout"),
        (Box::new(|| json_reply(200, &json!({"results": [{"index": 99, "relevance_score": 1}]}))), "nonsense"),
        (Box::new(|| json_reply(200, &json!({"results": [], "text": "x".repeat(1 << 20)}))), "nonsense"),
    ];
    for (script, expected) in scripts {
        let reranker = Upstream::scripted(move |_| script()).await;
        let server = Server::start_with_timeouts(&settings(&reranker, ""), timeouts).await;
        server.add("docs", &FACTS).await;
        let reply = chat(&server, QUESTION, Value::Null).await;
        assert_eq!((outcome(&reply, "rerank").as_str(), order(&reply)[0]), (expected, "tax"), "{reply}");
        let metrics = server.get("/metrics").await.text;
        assert!(metrics.contains(&counted(expected, 1)), "{metrics}");
    }
    assert_eq!(elsewhere.received().len(), 0, "redirects are not followed");

    let nowhere = "retrieval: {maxDistance: 4}\nendpoints: {completions: {rerank: always}}\n\
                   rerank: {backend: endpoint, url: 'http://127.0.0.1:9/rerank'}";
    let server = Server::start(nowhere).await;
    server.add("docs", &FACTS).await;
    assert_eq!(outcome(&chat(&server, QUESTION, Value::Null).await, "rerank"), "failed");
}

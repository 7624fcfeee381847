//! A cross-encoder in the server.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{QUESTION, chat, counted, order};
use crate::support::{FACTS, Server, outcome};
use tiny_cross_encoder::TinyCrossEncoder;

#[path = "../../../embedding/tests/embedding/onnx.rs"]
mod onnx;
#[path = "../../../embedding/tests/embedding/tiny_cross_encoder.rs"]
mod tiny_cross_encoder;

/// The settings of a server with the built-in model, which needs no language model to put chunks in order.
fn settings(folder: &Path) -> String {
    format!("retrieval: {{maxDistance: 4}}\nrerank: {{backend: local, local: {{modelID: '{}'}}}}", folder.display())
}

/// Asks until the model is loaded.
async fn chat_when_loaded(server: &Server) -> Value {
    for _ in 0..100 {
        let reply = chat(server, QUESTION, json!({"rerank": "always"})).await;
        if outcome(&reply, "rerank") != "failed" {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the model was not loaded in time: {:?}", server.app.reranker.problem());
}

#[tokio::test]
async fn a_cross_encoder_puts_chunks_in_order() {
    let folder = tempfile::tempdir().unwrap();
    TinyCrossEncoder::of(&[("moon", 3.0), ("bread", 2.0), ("tax", -1.0)]).write(folder.path());
    let server = Server::start(&settings(folder.path())).await;
    server.add("docs", &FACTS).await;
    let plain = chat(&server, QUESTION, json!({"rerank": "never"})).await;
    let reply = chat_when_loaded(&server).await;
    let others = order(&plain).into_iter().filter(|doc_id| ["cats", "ships"].contains(doc_id));
    let expected: Vec<&str> = ["moon", "bread"].into_iter().chain(others).chain(["tax"]).collect();
    assert_eq!((order(&plain)[0], order(&reply)), ("tax", expected));
    assert_eq!((outcome(&reply, "rerank").as_str(), server.app.reranker.problem()), ("done", None));
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains(&counted("done", 1)), "{metrics}");
}

#[tokio::test]
async fn scores_that_are_not_finite_are_nonsense() {
    let folder = tempfile::tempdir().unwrap();
    TinyCrossEncoder::of(&[("moon", f32::INFINITY)]).write(folder.path());
    let server = Server::start(&settings(folder.path())).await;
    server.add("docs", &FACTS).await;
    let reply = chat_when_loaded(&server).await;
    assert_eq!((outcome(&reply, "rerank").as_str(), order(&reply)[0]), ("nonsense", "tax"));
}

#[tokio::test]
async fn without_its_files_the_order_stays() {
    let server = Server::start(&settings(Path::new("/nowhere/reranker"))).await;
    server.add("docs", &FACTS).await;
    let plain = chat(&server, QUESTION, json!({"rerank": "never"})).await;
    for asked in 1..=2 {
        let reply = chat(&server, QUESTION, json!({"rerank": "always"})).await;
        assert_eq!((outcome(&reply, "rerank").as_str(), order(&reply)), ("failed", order(&plain)));
        let metrics = server.get("/metrics").await.text;
        assert!(metrics.contains(&counted("failed", asked)), "{metrics}");
    }
    for _ in 0..100 {
        if let Some(problem) = server.app.reranker.problem() {
            assert!(problem.contains("/nowhere/reranker") && problem.contains("rerank.local.modelID"), "{problem}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no problem is reported");
}

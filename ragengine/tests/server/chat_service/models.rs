//! The language model of a question, and what is sent to it.

use serde_json::json;

use super::{chat, reply, with};
use crate::support::upstream::Upstream;

const QUESTION: &str = "When is the annual tax return due?";

async fn with_models() -> Upstream {
    let models = json!({"data": [{"id": "small", "max_model_len": 8192}, {"id": "large", "max_model_len": 8192}]});
    Upstream::with_models(models, |_| reply("In May [1].")).await
}

#[tokio::test]
async fn a_request_names_a_model_of_the_list() {
    let upstream = with_models().await;
    let server = with(&upstream, "").await;
    for (named, used) in [(None, "small"), (Some("large"), "large"), (Some("small"), "small")] {
        chat(&server, json!({"query": QUESTION, "model_id": named})).await.ok();
        let sent = upstream.last().json();
        assert_eq!(
            (&sent["model"], &sent["temperature"], &sent["max_tokens"]),
            (&json!(used), &json!(0.4), &json!(1200))
        );
    }
    let error = chat(&server, json!({"query": QUESTION, "model_id": "other"})).await.error(400);
    assert!(error.contains("'other'") && error.contains("'large', 'small'"), "{error}");
}

#[tokio::test]
async fn the_settings_can_list_the_models() {
    let upstream = with_models().await;
    let settings = "endpoints: {chat: {models: [large], temperature: 0, maxTokens: 64, reformulate: false}}";
    let server = with(&upstream, settings).await;
    chat(&server, json!({"query": QUESTION, "model_id": "large"})).await.ok();
    let sent = upstream.last().json();
    assert_eq!((&sent["temperature"], &sent["max_tokens"]), (&json!(0.0), &json!(64)));
    let error = chat(&server, json!({"query": QUESTION, "model_id": "small"})).await.error(400);
    assert!(error.contains("'large'"), "{error}");
}

#[tokio::test]
async fn requests_are_checked() {
    let upstream = with_models().await;
    let server = with(&upstream, "").await;
    for (body, status, words) in [
        (json!({"query": " "}), 400, "Query string cannot be empty."),
        (json!({"query": QUESTION, "index_name": "n"}), 404, "No such index: 'n' exists."),
        (json!({"query": QUESTION, "session_id": "short"}), 400, "session_id must be"),
        (json!({"query": QUESTION, "top_k": 0}), 422, "between 1 and 300"),
        (json!({"query": QUESTION, "top_k": 301}), 422, "between 1 and 300"),
        (json!({"query": QUESTION, "metadata_filter": {"a": {"$no": 1}}}), 400, "$no"),
        (json!({"query": QUESTION, "pipeline": {"nothing": 1}}), 422, "nothing"),
        (json!({"question": QUESTION}), 422, "query"),
    ] {
        let reply = chat(&server, body.clone()).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
        assert!(reply.text.contains(words), "{body}: {}", reply.text);
    }
    assert_eq!(upstream.received().len(), 0);
}

#[tokio::test]
async fn a_session_has_a_history_and_a_question_without_one_has_none() {
    let upstream = with_models().await;
    let server = with(&upstream, "").await;
    for _ in 0..2 {
        chat(&server, json!({"query": QUESTION, "session_id": "session-1"})).await.ok();
    }
    let prompt = upstream.last().json()["messages"].as_array().unwrap().len();
    assert_eq!(prompt, 4, "the system message, a turn and the question");
    let history = server.get("/chat/history/session-1").await.ok();
    assert_eq!(history["messages"].as_array().unwrap().len(), 4);
    assert_eq!(history["messages"][1]["sources"][0]["doc_id"], "tax");
    chat(&server, json!({"query": QUESTION})).await.ok();
    assert_eq!(upstream.last().json()["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_question_is_reformulated_unless_it_is_a_follow_up() {
    let upstream = Upstream::scripted(|body| {
        let system = body["messages"][0]["content"].as_str().unwrap_or_default().to_owned();
        let question = "When is the annual tax return due?";
        reply(if system.starts_with("Rewrite a question") { question } else { "In May [1]." })
    })
    .await;
    let server = with(&upstream, "endpoints: {chat: {}}").await;
    let body = json!({"query": "wen is teh anual tax retrun due pls", "explain": true});
    let answer = chat(&server, body.clone()).await.ok();
    let rewrite = crate::support::stage_of(&answer, "rewrite");
    assert_eq!((&rewrite["outcome"], &rewrite["question"]), (&json!("done"), &json!(QUESTION)));
    assert_eq!(answer.get("condensed_question"), None);
    let off = json!({"query": body["query"], "explain": true, "pipeline": {"reformulate": false}});
    let answer = chat(&server, off).await.ok();
    assert_eq!(crate::support::outcome(&answer, "rewrite"), "unchanged");
}

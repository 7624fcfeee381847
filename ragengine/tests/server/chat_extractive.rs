use ragengine_client::wire::{ChatCompletion, ChatCompletionRequest, OpenAiError};
use serde_json::json;

use crate::support::{FACTS, Server, ask, events};

#[tokio::test]
async fn an_answer_quotes_the_nearest_sentences_with_their_sources() {
    let server = Server::shared();
    server.add("quotes", &FACTS).await;
    let reply = server.post("/v1/chat/completions", &ask("quotes", "When is the annual tax return due?")).await.ok();
    let answer = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(answer.starts_with("The annual tax return is due on the last day of May. [1]"), "{answer}");
    assert_eq!((reply["model"].as_str(), reply["object"].as_str()), (Some("extractive"), Some("chat.completion")));
    assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    let usage = &reply["usage"];
    let count = |field: &str| usage[field].as_u64().unwrap();
    assert!(count("prompt_tokens") > 50 && count("completion_tokens") > 5);
    assert_eq!(count("total_tokens"), count("prompt_tokens") + count("completion_tokens"));
    let source = &reply["source_nodes"][0];
    assert_eq!((source["doc_id"].as_str(), source["text"].as_str()), (Some("tax"), Some(FACTS[3].1)));
    let distance = source["score"].as_f64().unwrap();
    assert!((0.0..=1.1).contains(&distance), "{distance}");
}

#[tokio::test]
async fn an_answer_only_quotes_the_documents() {
    let server = Server::shared();
    server.add("honest", &FACTS).await;
    for question in ["How do I bake bread?", "What do cats do all day?", "How long does the moon need?"] {
        let reply = server.post("/v1/chat/completions", &ask("honest", question)).await.ok();
        let answer = reply["choices"][0]["message"]["content"].as_str().unwrap();
        let texts: String = FACTS.iter().map(|(_, text)| *text).collect();
        for sentence in answer.split_inclusive(']') {
            let quoted = sentence.rsplit_once(" [").unwrap().0.trim();
            assert!(texts.contains(quoted), "{quoted}");
        }
    }
}

#[tokio::test]
async fn a_stream_comes_sentence_by_sentence_and_ends_with_the_sources() {
    let server = Server::shared();
    server.add("stream", &FACTS).await;
    let mut body = ask("stream", "At what temperature do I bake sourdough bread, and what does it need?");
    let whole = server.post("/v1/chat/completions", &body).await.ok();
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let reply = server.post("/v1/chat/completions", &body).await;
    assert!(reply.headers["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    let (chunks, is_done) = events(&reply.text);
    assert!(is_done);
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, whole["choices"][0]["message"]["content"].as_str().unwrap());
    let sentences = chunks
        .iter()
        .filter(|chunk| chunk["choices"][0]["delta"]["content"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(sentences.count(), text.matches(']').count());
    let finish: Vec<_> = chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).collect();
    assert_eq!(finish.len(), 1);
    assert_eq!(finish[0]["source_nodes"], whole["source_nodes"]);
    assert_eq!(chunks.iter().filter(|chunk| !chunk["source_nodes"].is_null()).count(), 1);
    assert_eq!(chunks.last().unwrap()["usage"], whole["usage"]);
    assert_eq!(chunks.last().unwrap()["choices"], json!([]));
}

#[tokio::test]
async fn without_relevant_documents_the_answer_is_a_fixed_sentence() {
    let server = Server::start("retrieval: {maxDistance: 0.2}").await;
    server.add("far", &FACTS).await;
    let reply = server.post("/v1/chat/completions", &ask("far", "Who wrote the opera about a flute?")).await.ok();
    assert_eq!(reply["choices"][0]["message"]["content"], "The documents do not say anything about this.");
    assert_eq!(reply["source_nodes"], json!([]));
}

#[tokio::test]
async fn an_answer_says_when_relevant_passages_do_not_fit() {
    let server = Server::shared();
    let long = "The annual tax return is due on the last day of May, and people dislike it. ".repeat(8);
    server.add("unfitting", &[("tax", &long)]).await;
    let mut body = ask("unfitting", "When is the annual tax return due?");
    body["max_tokens"] = json!(100);
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    let answer = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(answer.contains("none fits") && answer.contains("max_tokens"), "{answer}");
    body["max_tokens"] = json!(2000);
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(reply["source_nodes"][0]["doc_id"], "tax");
}

#[tokio::test]
async fn a_request_that_needs_a_language_model_is_refused() {
    let server = Server::shared();
    server.add("bypass", &FACTS[..1]).await;
    let message = json!([{"role": "user", "content": "Hello"}]);
    for body in [
        json!({"model": "m", "messages": message}),
        json!({
            "model": "m", "index_name": "bypass", "messages": message,
            "tools": [{"type": "function", "function": {"name": "f"}}]
        }),
        json!({"model": "m", "index_name": "bypass", "messages": [{"role": "tool", "content": "x"}]}),
    ] {
        let error = server.post("/v1/chat/completions", &body).await.error(503);
        assert!(error.contains("inferenceService.url"), "{error}");
    }
}

#[tokio::test]
async fn without_any_model_chat_is_refused_and_retrieval_works() {
    let server = Server::start("extractive: false").await;
    server.add("none", &FACTS).await;
    let error = server.post("/v1/chat/completions", &ask("none", "Hello?")).await.error(503);
    assert!(error.contains("inferenceService.url") && error.contains("/retrieve"), "{error}");
    assert_eq!(server.found("none", "tax", 1).await, ["tax"]);
    assert_eq!(server.get("/v1/models").await.ok()["data"], json!([]));
}

#[tokio::test]
async fn the_checks_run_in_a_fixed_order() {
    let server = Server::shared();
    server.add("order", &FACTS[..1]).await;
    let message = json!([{"role": "user", "content": "Hello"}]);
    let chat = async |body: serde_json::Value| server.post("/v1/chat/completions", &body).await;
    let ratio =
        chat(json!({"index_name": "nowhere", "context_token_ratio": 0.1, "messages": message})).await.error(400);
    assert_eq!(ratio, "Invalid context_token_ratio: 0.1. Must be between 0.2 and 0.8.");
    let tools = chat(json!({"index_name": "nowhere", "messages": message, "tools": [1]})).await.error(404);
    assert_eq!(tools, "No such index: 'nowhere' exists.");
    let several = chat(json!({"index_name": "order", "messages": [], "n": 2})).await.error(400);
    assert_eq!(several, "n > 1 is not supported.");
    let unanswerable =
        chat(json!({"index_name": "order", "messages": [{"role": "assistant", "content": "x"}]})).await.error(400);
    assert_eq!(unanswerable, "There must be a user prompt since the latest assistant message.");
    let long = "word ".repeat(10_000);
    let window = chat(json!({"index_name": "order", "messages": [{"role": "user", "content": long}]})).await.error(400);
    assert_eq!(window, "Prompt length exceeds context window.");
}

#[tokio::test]
async fn a_streamed_answer_is_measured() {
    let server = Server::start("{retrieval: {maxDistance: 1.1}}").await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", "When is the annual tax return due?");
    body["stream"] = json!(true);
    assert_eq!(server.post("/v1/chat/completions", &body).await.status, 200);
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains(r#"ragengine_chat_first_token_seconds_count{path="rag"} 1"#), "{metrics}");
}

/// The API description of a chat is generated from these types.
#[tokio::test]
async fn replies_match_the_described_types() {
    let server = Server::shared();
    server.add("described", &FACTS).await;
    let mut body = ask("described", "When is the annual tax return due?");
    body["explain"] = json!(true);
    let request: ChatCompletionRequest = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(serde_json::to_value(&request).unwrap(), body);
    let reply: ChatCompletion = serde_json::from_value(server.post("/v1/chat/completions", &body).await.ok()).unwrap();
    assert!(reply.source_nodes.is_some_and(|nodes| !nodes.is_empty()) && reply.explanation.is_some());
    assert!(reply.more.contains_key("usage"));
    let refusal = server.post("/v1/chat/completions", &json!({"messages": 1})).await;
    let refusal: OpenAiError = serde_json::from_str(&refusal.text).unwrap();
    assert_eq!(refusal.error.param.as_deref(), Some("messages"));
}

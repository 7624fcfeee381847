//! Questions that the language model rewrites for the search.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::response::Response;
use ragengine::app::StageTimeouts;
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, json_reply, late_reply, text_reply};
use crate::support::{FACTS, Server, ask, outcome, stage_of};

/// Makes a reply to a side task.
type Script = fn() -> Response;

const CONDENSED: &str = "How much is the fee for a late annual tax return?";
const REFORMULATED: &str = "When does the container ship leave the harbour?";

/// The side task of a request to the language model. Empty for an answer.
fn task(body: &Value) -> &'static str {
    let system = body["messages"][0]["content"].as_str().unwrap_or_default();
    if system.starts_with("Rewrite the last question") {
        "condense"
    } else if system.starts_with("Rewrite a question") {
        "reformulate"
    } else {
        ""
    }
}

fn rewriting(body: &Value) -> Response {
    let reply = match task(body) {
        "condense" => format!("Standalone question: {CONDENSED}"),
        "reformulate" => REFORMULATED.to_owned(),
        _ => "Hello.".to_owned(),
    };
    json_reply(200, &completion(&reply))
}

/// A language model whose replies to side tasks are those of `script`.
async fn language_model(script: Script) -> Upstream {
    Upstream::scripted(move |body| if task(&body).is_empty() { rewriting(&body) } else { script() }).await
}

fn settings(upstream: &Upstream, more: &str) -> String {
    format!("inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 1.1}}\n{more}", upstream.url)
}

/// A chat about the tax return that ends with a question.
fn chat(question: &str, has_history: bool, pipeline: Value) -> Value {
    let mut body = ask("docs", question);
    if has_history {
        body["messages"] = json!([
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "When is the tax return due?"},
            {"role": "assistant", "content": "On the last\nday of May."},
            {"role": "user", "content": question},
        ]);
    }
    body["pipeline"] = pipeline;
    body["explain"] = json!(true);
    body
}

/// The side tasks that the language model got.
fn tasks(upstream: &Upstream) -> Vec<&'static str> {
    upstream.received().iter().map(|received| task(&received.json())).filter(|task| !task.is_empty()).collect()
}

fn counted(outcome: &str, count: u64) -> String {
    format!(
        "ragengine_pipeline_stages_total{{endpoint=\"completions\",outcome=\"{outcome}\",stage=\"rewrite\"}} {count}\n"
    )
}

#[tokio::test]
async fn a_follow_up_is_condensed_for_the_search_only() {
    let upstream = Upstream::scripted(|body| rewriting(&body)).await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    let question = "And how much is it?";
    let mut body = chat(question, true, json!({"condense": "followUp"}));
    (body["user"], body["metadata"]) = (json!("ann-private"), json!({"team": "private"}));
    let request = server.request("/v1/chat/completions").header("x-request-id", "id-1").body(body.to_string());
    let reply = Server::reply(request).await.ok();
    let stage = stage_of(&reply, "rewrite");
    assert_eq!((&stage["outcome"], &stage["question"]), (&json!("done"), &json!(CONDENSED)));
    assert_eq!(reply["source_nodes"][0]["doc_id"], "tax", "{reply}");

    let received = upstream.received();
    let (side, answer) = (&received[0], received[1].json());
    let sent = side.json();
    let fields: BTreeSet<&str> = sent.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, BTreeSet::from(["max_tokens", "messages", "model", "temperature"]));
    assert_eq!((&sent["model"], &sent["temperature"], &sent["max_tokens"]), (&json!("m"), &json!(0), &json!(512)));
    assert_eq!(side.headers["x-request-id"], "id-1");
    let expected = "Conversation:\nUser: When is the tax return due?\nAssistant: On the last day of May.\n\nLast \
                    question: And how much is it?";
    assert_eq!(sent["messages"][1]["content"], expected);
    // The answer is to the question as it was written.
    assert!(answer["messages"].as_array().unwrap().iter().any(|message| message["content"] == question), "{answer}");
    assert!(!answer.to_string().contains(CONDENSED), "{answer}");
    assert_eq!((answer.get("pipeline"), &answer["user"]), (None, &json!("ann-private")));
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains(&counted("done", 1)), "{metrics}");
    assert!(metrics.contains("ragengine_chat_stage_duration_seconds_count{stage=\"rewrite\"} 1\n"), "{metrics}");
}

#[tokio::test]
async fn what_is_rewritten_is_chosen_by_the_request() {
    let upstream = Upstream::scripted(|body| rewriting(&body)).await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    let whole = "When does the large container ship leave the harbour?";
    let paste = format!("{whole} {}", "It carries steel. ".repeat(120));
    for (question, has_history, pipeline, expected_task, expected_outcome) in [
        ("And the fee?", true, json!({"condense": "followUp"}), Some("condense"), "done"),
        ("And the fee?", false, json!({"condense": "followUp"}), None, "unchanged"),
        (whole, true, json!({"condense": "followUp"}), None, "unchanged"),
        (whole, true, json!({"condense": "always"}), Some("condense"), "done"),
        (whole, false, json!({"condense": "always"}), None, "unchanged"),
        (whole, true, json!({"condense": "followUp", "reformulate": true}), Some("reformulate"), "done"),
        ("And the fee?", true, json!({"condense": "followUp", "reformulate": true}), Some("condense"), "done"),
        ("And the fee?", true, json!({"condense": "never", "reformulate": true}), Some("reformulate"), "done"),
        // The model repeats the question.
        (REFORMULATED, false, json!({"reformulate": true}), Some("reformulate"), "unchanged"),
        // No part of a long question is lost.
        (&paste, true, json!({"condense": "always", "reformulate": true}), None, "unchanged"),
        ("And the fee?", true, json!({"condense": "never"}), None, ""),
        ("And the fee?", true, Value::Null, None, ""),
    ] {
        let before = tasks(&upstream).len();
        let body = chat(question, has_history, pipeline.clone());
        let reply = server.post("/v1/chat/completions", &body).await.ok();
        let case = format!("{question:.60} {has_history} {pipeline}");
        assert_eq!(outcome(&reply, "rewrite"), expected_outcome, "{case}");
        assert_eq!(tasks(&upstream)[before..], Vec::from_iter(expected_task), "{case}");
    }
    let metrics = server.get("/metrics").await.text;
    for line in [counted("done", 5), counted("unchanged", 5), counted("off", 2)] {
        assert!(metrics.contains(&line), "{line} is not in {metrics}");
    }
    let refused = server.post("/v1/chat/completions", &chat("Why?", true, json!({"condense": "sometimes"}))).await;
    assert!(refused.error(400).contains("unknown variant `sometimes`"), "{}", refused.text);
    let body = json!({"index_name": "docs", "query": "Why?", "pipeline": {"reformulate": true}});
    assert!(server.post("/retrieve", &body).await.error(422).contains("pipeline"));
}

#[tokio::test]
async fn the_settings_choose_the_stage_and_its_model() {
    let upstream = Upstream::scripted(|body| rewriting(&body)).await;
    // One chat at a time: a side task gives its turn back before the answer takes one.
    let server = Server::start(&format!(
        "inferenceService: {{url: '{}', models: [m, small], maxConcurrentRequests: 1, maxWaitingRequests: 0}}\n\
         retrieval: {{maxDistance: 1.1}}\nrewrite: {{model: small, acronyms: {{fee: charge}}}}\n\
         endpoints: {{completions: {{condense: always, reformulate: true, acronyms: true}}}}",
        upstream.url
    ))
    .await;
    server.add("docs", &FACTS).await;
    let reply = server.post("/v1/chat/completions", &chat("And the fee?", true, Value::Null)).await.ok();
    let stages = reply["explanation"]["stages"].as_array().unwrap();
    assert_eq!((&stages[0]["stage"], &stages[1]["stage"]), (&json!("rewrite"), &json!("acronyms")));
    // Acronyms are expanded in the new question.
    assert_eq!(stages[1]["question"], CONDENSED.replace("fee", "charge (fee)"));
    let models: Vec<Value> = upstream.received().iter().map(|received| received.json()["model"].clone()).collect();
    assert_eq!(models, ["small", "m"]);
    let off = json!({"condense": "never", "reformulate": false});
    let reply = server.post("/v1/chat/completions", &chat("And the fee?", true, off)).await.ok();
    assert_eq!(outcome(&reply, "rewrite"), "");
}

#[tokio::test]
async fn a_failure_leaves_the_question() {
    let timeouts = StageTimeouts { rewrite: Duration::from_millis(300), ..StageTimeouts::default() };
    let failing: [(Script, &str); 5] = [
        (|| json_reply(500, &json!({"error": {"message": "out of memory"}})), "failed"),
        (|| text_reply(200, "no JSON"), "failed"),
        (|| json_reply(200, &completion(" ")), "failed"),
        (|| json_reply(200, &completion(&"word ".repeat(1000))), "failed"),
        (late_reply, "timeout"),
    ];
    for (script, expected) in failing {
        let upstream = language_model(script).await;
        let server = Server::start_with_timeouts(&settings(&upstream, ""), timeouts).await;
        server.add("docs", &FACTS).await;
        let body = chat("What is the late fee of the tax return?", true, json!({"condense": "always"}));
        let reply = server.post("/v1/chat/completions", &body).await.ok();
        let stage = stage_of(&reply, "rewrite");
        assert_eq!((&stage["outcome"], stage.get("question")), (&json!(expected), None), "{reply}");
        assert_eq!(reply["source_nodes"][0]["doc_id"], "tax", "{reply}");
        assert_eq!(tasks(&upstream), ["condense"]);
        let metrics = server.get("/metrics").await.text;
        assert!(metrics.contains(&counted(expected, 1)), "{metrics}");
        assert!(metrics.contains("ragengine_requests_running{work=\"language_model\"} 0\n"), "{metrics}");
    }
}

#[tokio::test]
async fn without_a_language_model_the_stage_is_off() {
    let server = Server::start("retrieval: {maxDistance: 1.1}").await;
    server.add("docs", &FACTS).await;
    let body = chat("When is the tax return due?", true, json!({"condense": "always", "reformulate": true}));
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!((outcome(&reply, "rewrite"), &reply["source_nodes"][0]["doc_id"]), (String::new(), &json!("tax")));
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains(&counted("off", 1)), "{metrics}");
}

//! Chunks that a model puts in order.

mod endpoint;
mod local;

use std::collections::BTreeSet;
use std::time::Duration;

use axum::response::Response;
use ragengine::app::StageTimeouts;
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, json_reply, late_reply, text_reply};
use crate::support::{FACTS, Server, ask, outcome, stage_of};

/// Makes a reply to a side task.
type Script = fn() -> Response;

const QUESTION: &str = "When is the annual tax return due?";

fn is_side_task(body: &Value) -> bool {
    body["messages"][0]["content"].as_str().unwrap_or_default().starts_with("Order passages")
}

/// A language model that replies to side tasks with this text.
async fn ranking(reply: &'static str) -> Upstream {
    failing(move || json_reply(200, &completion(reply))).await
}

async fn failing(script: impl Fn() -> Response + Send + Sync + 'static) -> Upstream {
    Upstream::scripted(move |body| if is_side_task(&body) { script() } else { json_reply(200, &completion("Hello.")) })
        .await
}

/// Settings with which every chunk is near enough, and no scores are close to each other.
fn settings(upstream: &Upstream, more: &str) -> String {
    format!(
        "inferenceService: {{url: '{}'}}\nretrieval: {{maxDistance: 4, mmrLambda: 1}}\n\
         rerank: {{scoreSpread: 0{more}}}",
        upstream.url
    )
}

async fn chat(server: &Server, question: &str, pipeline: Value) -> Value {
    let mut body = ask("docs", question);
    (body["pipeline"], body["explain"]) = (pipeline, json!(true));
    server.post("/v1/chat/completions", &body).await.ok()
}

/// The documents in the order of the search and its stages.
fn order(reply: &Value) -> Vec<&str> {
    reply["explanation"]["chunks"].as_array().unwrap().iter().map(|chunk| chunk["doc_id"].as_str().unwrap()).collect()
}

fn side_tasks(upstream: &Upstream) -> Vec<Value> {
    let bodies = upstream.received().into_iter().map(|received| received.json());
    bodies.filter(is_side_task).collect()
}

fn counted(outcome: &str, count: u64) -> String {
    format!(
        "ragengine_pipeline_stages_total{{endpoint=\"completions\",outcome=\"{outcome}\",stage=\"rerank\"}} {count}\n"
    )
}

#[tokio::test]
async fn the_language_model_puts_chunks_in_order() {
    let upstream = ranking("[3, 1]").await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    let plain = chat(&server, QUESTION, Value::Null).await;
    let reply = chat(&server, QUESTION, json!({"rerank": "always"})).await;
    let before = order(&plain);
    let expected = [2, 0, 1, 3, 4].map(|position| before[position]);
    assert_eq!((order(&reply), before[0]), (expected.to_vec(), "tax"));
    assert_eq!(reply["source_nodes"][0]["doc_id"], expected[0], "{reply}");
    let stage = stage_of(&reply, "rerank");
    assert_eq!((&stage["outcome"], &stage["trigger"]), (&json!("done"), &json!("always")));

    let sent = side_tasks(&upstream).remove(0);
    let fields: BTreeSet<&str> = sent.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, BTreeSet::from(["max_tokens", "messages", "model", "temperature"]));
    assert_eq!((&sent["model"], &sent["temperature"], &sent["max_tokens"]), (&json!("m"), &json!(0), &json!(256)));
    let user = sent["messages"][1]["content"].as_str().unwrap();
    assert!(user.contains(&format!("[1]\n{}\n", FACTS[3].1)) && user.contains("[5]\n"), "{user}");
    assert!(user.ends_with(&format!("Question: {QUESTION}")), "{user}");

    // By maximal marginal relevance without a weight for difference, the ranks of the model stay.
    let reply = chat(&server, QUESTION, json!({"rerank": "always", "diversity": "mmr"})).await;
    assert_eq!((order(&reply), outcome(&reply, "diversity")), (expected.to_vec(), "unchanged".to_owned()));
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains(&counted("done", 2)) && metrics.contains(&counted("off", 1)), "{metrics}");
    assert!(metrics.contains("ragengine_chat_stage_duration_seconds_count{stage=\"rerank\"} 2\n"), "{metrics}");
}

#[tokio::test]
async fn a_trigger_decides_whether_the_model_is_asked() {
    let upstream = ranking("[2, 1]").await;
    let server = Server::start(&settings(&upstream, ", model: small")).await;
    server.add("docs", &FACTS).await;
    for (question, when, trigger) in [
        ("When is the latest tax return due?", "conditional", Some("temporal")),
        ("What is the difference between the moon and a cat?", "conditional", Some("comparison")),
        (QUESTION, "conditional", None),
        (QUESTION, "always", Some("always")),
        ("When is the latest tax return due?", "never", None),
    ] {
        let before = side_tasks(&upstream).len();
        let reply = chat(&server, question, json!({"rerank": when})).await;
        let expected = match (when, trigger) {
            ("never", _) => "",
            (_, None) => "unchanged",
            (_, Some(_)) => "done",
        };
        assert_eq!(outcome(&reply, "rerank"), expected, "{question} {when}");
        assert_eq!(stage_of(&reply, "rerank")["trigger"].as_str(), trigger, "{question} {when}");
        assert_eq!(side_tasks(&upstream).len() - before, usize::from(trigger.is_some()), "{question} {when}");
    }
    assert!(side_tasks(&upstream).iter().all(|body| body["model"] == "small"));

    let close = settings(&upstream, ", temporalWords: []").replace("scoreSpread: 0", "scoreSpread: 1")
        + "\nendpoints: {completions: {rerank: conditional, recency: true}}";
    let server = Server::start(&close).await;
    server.add("docs", &FACTS).await;
    let reply = chat(&server, QUESTION, Value::Null).await;
    assert_eq!(stage_of(&reply, "rerank")["trigger"], "spread", "{reply}");
    // Nothing is put in order for a question without context.
    let asked = side_tasks(&upstream).len();
    let far = Server::start(&close.replace("maxDistance: 4", "maxDistance: 0.001")).await;
    far.add("docs", &FACTS).await;
    let reply = chat(&far, QUESTION, Value::Null).await;
    assert_eq!((outcome(&reply, "rerank"), side_tasks(&upstream).len()), ("unchanged".to_owned(), asked));
}

#[tokio::test]
async fn a_failure_leaves_the_order() {
    let timeouts = StageTimeouts { rerank: Duration::from_millis(300), ..StageTimeouts::default() };
    let scripts: [(Script, &str); 6] = [
        (|| json_reply(500, &json!({"error": {"message": "out of memory"}})), "failed"),
        (|| text_reply(200, "no JSON"), "failed"),
        (late_reply, "timeout"),
        (|| json_reply(200, &completion("I cannot rank these.")), "nonsense"),
        (|| json_reply(200, &completion("[7, 8, 9]")), "nonsense"),
        (|| json_reply(200, &completion("[1, 2, 3, 4, 5]")), "unchanged"),
    ];
    for (script, expected) in scripts {
        let upstream = failing(script).await;
        let server = Server::start_with_timeouts(&settings(&upstream, ""), timeouts).await;
        server.add("docs", &FACTS).await;
        let plain = chat(&server, QUESTION, Value::Null).await;
        let reply = chat(&server, QUESTION, json!({"rerank": "always"})).await;
        let stage = stage_of(&reply, "rerank");
        assert_eq!((&stage["outcome"], &stage["trigger"]), (&json!(expected), &json!("always")), "{reply}");
        assert_eq!(order(&reply), order(&plain));
        let metrics = server.get("/metrics").await.text;
        assert!(metrics.contains(&counted(expected, 1)), "{metrics}");
        assert!(metrics.contains("ragengine_requests_running{work=\"language_model\"} 0\n"), "{metrics}");
    }
}

#[tokio::test]
async fn without_a_language_model_the_stage_is_off() {
    let server = Server::start("retrieval: {maxDistance: 4}").await;
    server.add("docs", &FACTS).await;
    let reply = chat(&server, QUESTION, json!({"rerank": "always"})).await;
    assert_eq!((outcome(&reply, "rerank"), order(&reply)[0]), (String::new(), "tax"));
    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains(&counted("off", 1)), "{metrics}");
}

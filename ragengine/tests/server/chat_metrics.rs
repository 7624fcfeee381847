//! The numbers of a scripted conversation, every one of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Server, ask};

const QUESTION: &str = "When is the annual tax return due?";

/// Answers as the first message says.
async fn upstream() -> Upstream {
    Upstream::scripted(|body| match body["user"].as_str() {
        Some("slow down") => json_reply(429, &json!({"error": {"message": "slow down"}})),
        Some("break") => json_reply(500, &json!({"error": {"message": "broken"}})),
        _ if body["stream"] == true => {
            let usage =
                "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":4}}\n\n".to_owned();
            event_reply([delta("a"), finish(), usage, "data: [DONE]\n\n".to_owned()].map(Ok).into())
        }
        _ => json_reply(200, &completion("Hello.")),
    })
    .await
}

/// Every chat metric but for sums and buckets, whose values are times: series → value.
async fn counts(server: &Server) -> BTreeMap<String, f64> {
    let text = server.get("/metrics").await.text;
    let lines = text.lines().filter_map(|line| line.strip_prefix("ragengine_chat_")?.rsplit_once(' '));
    lines
        .filter(|(series, _)| !series.contains("_bucket") && !series.contains("_seconds_sum"))
        .map(|(series, value)| (series.replace('"', ""), value.parse().unwrap()))
        .collect()
}

#[tokio::test]
async fn a_scripted_conversation_is_counted_to_the_last_number() {
    let upstream = upstream().await;
    let settings = format!(
        "{{inferenceService: {{url: '{}', contextWindowSize: 8192}}, retrieval: {{maxDistance: 1.1}}}}",
        upstream.url
    );
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    let chat = async |changes: Value| {
        let mut body = ask("docs", QUESTION);
        body["explain"] = json!(true);
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        server.post("/v1/chat/completions", &body).await
    };
    let mut explained: Vec<Value> = Vec::new();

    // From documents, whole and streamed; one with a bound that is lowered.
    for changes in [json!({}), json!({"max_tokens": 100_000})] {
        explained.push(chat(changes).await.ok()["explanation"].clone());
    }
    let streamed = chat(json!({"stream": true})).await.text;
    explained.push(crate::support::events(&streamed).0[1]["explanation"].clone());
    // Passed through, for each reason.
    chat(json!({"index_name": ""})).await.ok();
    chat(json!({"tools": [{"type": "function", "function": {"name": "f"}}]})).await.ok();
    chat(json!({"messages": [{"role": "tool", "content": "x"}, {"role": "user", "content": "y"}]})).await.ok();
    let picture = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]);
    chat(json!({"messages": picture})).await.ok();
    let far = json!([{"role": "user", "content": "Which opera has a magic flute in it?"}]);
    explained.push(chat(json!({"messages": far})).await.ok()["explanation"].clone());
    explained.push(chat(json!({"max_tokens": 4})).await.ok()["explanation"].clone());
    // Refused, by us and by the language model; failed.
    server.post_bytes("/v1/chat/completions", "{").await.error(400);
    chat(json!({"index_name": "nowhere"})).await.error(404);
    chat(json!({"messages": [{"role": "user", "content": "word ".repeat(6000)}]})).await.error(400);
    for (user, status) in [("slow down", 429), ("break", 500)] {
        let reply = chat(json!({"user": user})).await;
        reply.error(status);
        explained.push(explained[0].clone());
    }

    let paths: Vec<_> =
        explained.iter().map(|one| (one["path"].as_str().unwrap(), one["reason"].as_str().unwrap())).collect();
    assert_eq!(paths[..3], [("rag", ""); 3]);
    assert_eq!(paths[3..5], [("passthrough", "nothing_relevant"), ("passthrough", "over_budget")]);

    let decided = |decision: &str| {
        let chunks = explained.iter().flat_map(|one| one["chunks"].as_array().unwrap());
        chunks.filter(|chunk| chunk["decision"] == decision).count() as f64
    };
    let tokens = |part: &str| explained.iter().map(|one| one["context_tokens"][part].as_f64().unwrap()).sum::<f64>();
    let similarity = |distance: &Value| 1.0 - distance.as_f64().unwrap() / 2.0;
    let best: f64 = explained.iter().map(|one| similarity(&one["chunks"][0]["distance"])).sum();
    let last = |one: &Value| {
        let selected = one["chunks"].as_array().unwrap().iter().rev().find(|chunk| chunk["decision"] == "selected");
        selected.map(|chunk| similarity(&chunk["distance"]))
    };
    let last_selected: Vec<f64> = explained.iter().filter_map(last).collect();
    assert!(decided("selected") > 0.0 && decided("over_threshold") > 0.0 && decided("over_budget") > 0.0);

    let request = |index: &str, path: &str, reason: &str, outcome: &str| {
        format!("requests_total{{index={index},outcome={outcome},path={path},reason={reason}}}")
    };
    let expected: BTreeMap<String, f64> = [
        (request("docs", "rag", "", "ok"), 3.0),
        (request("", "passthrough", "no_index", "ok"), 1.0),
        (request("docs", "passthrough", "tools", "ok"), 1.0),
        (request("docs", "passthrough", "role", "ok"), 1.0),
        (request("docs", "passthrough", "content", "ok"), 1.0),
        (request("docs", "passthrough", "nothing_relevant", "ok"), 1.0),
        (request("docs", "passthrough", "over_budget", "ok"), 1.0),
        (request("", "none", "json", "refused"), 1.0),
        (request("", "none", "no_such_index", "refused"), 1.0),
        (request("docs", "none", "context_window", "refused"), 1.0),
        (request("docs", "rag", "", "refused"), 1.0),
        (request("docs", "rag", "", "failed"), 1.0),
        ("requests_in_flight".to_owned(), 0.0),
        ("duration_seconds_count{path=rag}".to_owned(), 3.0),
        ("duration_seconds_count{path=passthrough}".to_owned(), 6.0),
        ("first_token_seconds_count{path=rag}".to_owned(), 1.0),
        ("stage_duration_seconds_count{stage=plan}".to_owned(), 11.0),
        ("stage_duration_seconds_count{stage=embed}".to_owned(), 7.0),
        ("stage_duration_seconds_count{stage=search}".to_owned(), 7.0),
        ("stage_duration_seconds_count{stage=select}".to_owned(), 7.0),
        ("chunks_total{decision=selected,index=docs}".to_owned(), decided("selected")),
        ("chunks_total{decision=over_threshold,index=docs}".to_owned(), decided("over_threshold")),
        ("chunks_total{decision=over_budget,index=docs}".to_owned(), decided("over_budget")),
        ("context_tokens_count{index=docs,part=budget}".to_owned(), 7.0),
        ("context_tokens_count{index=docs,part=used}".to_owned(), 7.0),
        ("context_tokens_sum{index=docs,part=budget}".to_owned(), tokens("budget")),
        ("context_tokens_sum{index=docs,part=used}".to_owned(), tokens("used")),
        ("similarity_count{index=docs,rank=best}".to_owned(), 7.0),
        ("similarity_count{index=docs,rank=last_selected}".to_owned(), last_selected.len() as f64),
        ("similarity_sum{index=docs,rank=best}".to_owned(), best),
        ("similarity_sum{index=docs,rank=last_selected}".to_owned(), last_selected.iter().sum()),
        ("max_tokens_lowered_total{index=docs}".to_owned(), 1.0),
        ("tokenizer_total{kind=estimate}".to_owned(), 8.0),
        // Three tokens of prompt and two of answer in each whole reply, thirty and four in the stream.
        ("tokens_total{direction=in,index=docs}".to_owned(), 7.0 * 3.0 + 30.0),
        ("tokens_total{direction=out,index=docs}".to_owned(), 7.0 * 2.0 + 4.0),
        ("tokens_total{direction=in,index=}".to_owned(), 3.0),
        ("tokens_total{direction=out,index=}".to_owned(), 2.0),
    ]
    .into();
    let counted = counts(&server).await;
    assert_eq!(counted.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (series, value) in &expected {
        assert!((counted[series] - value).abs() < 1e-3, "{series}: {} is not {value}", counted[series]);
    }
}

#[tokio::test]
async fn the_lowering_that_is_sent_counts_too_and_a_chat_counts_once() {
    let upstream = upstream().await;
    let settings = format!(
        "{{inferenceService: {{url: '{}', contextWindowSize: 8192}}, retrieval: {{maxDistance: 1.1}}}}",
        upstream.url
    );
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", QUESTION);
    body["explain"] = json!(true);
    let explained = server.post("/v1/chat/completions", &body).await.ok()["explanation"].clone();
    let tokens = |name: &str| explained[name].as_u64().unwrap();
    // It fits beside the conversation, and not beside the documents.
    body["max_tokens"] = json!(8192 - tokens("conversation_tokens"));
    let lowered = server.post("/v1/chat/completions", &body).await.ok()["explanation"].clone();
    let sent = upstream.last().json()["max_tokens"].as_u64().unwrap();
    assert_eq!(Some(sent), lowered["max_tokens"].as_u64());
    assert!(sent < 8192 - tokens("conversation_tokens"), "{sent}");
    let counted = async || counts(&server).await["max_tokens_lowered_total{index=docs}"];
    assert!((counted().await - 1.0).abs() < f64::EPSILON);
    // Lowered twice, and once more a chat.
    body["max_tokens"] = json!(100_000);
    server.post("/v1/chat/completions", &body).await.ok();
    assert!((counted().await - 2.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_deleted_index_leaves_no_series() {
    let upstream = upstream().await;
    let server = Server::start(&upstream.settings()).await;
    for round in 0..2 {
        server.add("docs", &FACTS).await;
        let mut body = ask("docs", QUESTION);
        body["max_tokens"] = json!(100_000);
        server.post("/v1/chat/completions", &body).await.ok();
        let counted = counts(&server).await;
        assert!(
            (counted["requests_total{index=docs,outcome=ok,path=rag,reason=}"] - 1.0).abs() < f64::EPSILON,
            "{round}"
        );
        server.delete("/indexes/docs").await.ok();
        let text = server.get("/metrics").await.text;
        assert!(!text.contains("index=\"docs\""), "{text}");
    }
}

#[tokio::test]
async fn an_explanation_says_why_and_shows_no_text() {
    let upstream = upstream().await;
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", QUESTION);
    body["explain"] = json!(true);
    body["model"] = json!("served");
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    let explanation = &reply["explanation"];
    assert_eq!(upstream.last().json().get("explain"), None);
    assert_eq!(explanation["chunks"].as_array().unwrap().len(), FACTS.len());
    let first = &explanation["chunks"][0];
    assert_eq!((&first["doc_id"], &first["decision"]), (&json!("tax"), &json!("selected")));
    assert_eq!(first["node_id"], reply["source_nodes"][0]["node_id"]);
    assert_eq!(first["distance"], reply["source_nodes"][0]["score"]);
    let (last, used) =
        (explanation["chunks"].as_array().unwrap().last().unwrap(), &explanation["context_tokens"]["used"]);
    assert_eq!((&last["decision"], last.get("tokens")), (&json!("over_threshold"), None));
    let selected = explanation["chunks"].as_array().unwrap().iter().filter(|chunk| chunk["decision"] == "selected");
    assert_eq!(selected.map(|chunk| chunk["tokens"].as_u64().unwrap()).sum::<u64>(), used.as_u64().unwrap());
    assert!(explanation["prompt_tokens"].as_u64() > explanation["conversation_tokens"].as_u64());
    assert_eq!((&explanation["tokenizer"], &explanation["window_tokens"]), (&json!("estimate"), &json!(8192)));
    assert!(!explanation.to_string().contains("due on the last day"));

    body["index_name"] = Value::Null;
    let reply = server.post("/v1/chat/completions", &body).await.ok();
    assert_eq!(reply["explanation"], json!({"path": "passthrough", "reason": "no_index", "chunks": []}));

    let settings = format!("{{inferenceService: {{url: '{}'}}, chat: {{explain: false}}}}", upstream.url);
    let refused = Server::start(&settings).await.post("/v1/chat/completions", &body).await;
    assert!(refused.error(400).contains("chat.explain"));
}

#[tokio::test]
async fn an_openai_model_is_counted_with_its_own_encoding() {
    let upstream = upstream().await;
    let settings = format!("{{inferenceService: {{url: '{}'}}, retrieval: {{maxDistance: 1.1}}}}", upstream.url);
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", QUESTION);
    body["explain"] = json!(true);
    body["model"] = json!("openai/gpt-4o");
    let explanation = server.post("/v1/chat/completions", &body).await.ok()["explanation"].clone();
    assert_eq!((&explanation["tokenizer"], &explanation["window_tokens"]), (&json!("tiktoken"), &json!(128_000)));
    body["model"] = json!("served");
    let estimated = server.post("/v1/chat/completions", &body).await.ok()["explanation"].clone();
    assert_eq!((&estimated["tokenizer"], &estimated["window_tokens"]), (&json!("estimate"), &json!(8192)));
    assert!(estimated["prompt_tokens"].as_u64() > explanation["prompt_tokens"].as_u64());
}

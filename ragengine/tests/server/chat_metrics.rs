//! The chat metrics of scripted conversations, compared value by value.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::response::IntoResponse as _;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Server, ask};

const QUESTION: &str = "When is the annual tax return due?";

/// A language model whose answer depends on the field `user`.
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

/// The value of every chat metric by its series, without buckets and sums of seconds, which vary from run to run.
async fn counts(server: &Server) -> BTreeMap<String, f64> {
    let text = server.get("/metrics").await.text;
    let lines = text.lines().filter_map(|line| line.strip_prefix("ragengine_chat_")?.rsplit_once(' '));
    lines
        .filter(|(series, _)| !series.contains("_bucket") && !series.contains("_seconds_sum"))
        .map(|(series, value)| (series.replace('"', ""), value.parse().unwrap()))
        .collect()
}

#[tokio::test]
async fn every_metric_of_a_scripted_conversation_is_exact() {
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

    // Answered from documents, whole and streamed. One of them has a `max_tokens` that is lowered.
    for changes in [json!({}), json!({"max_tokens": 100_000})] {
        explained.push(chat(changes).await.ok()["explanation"].clone());
    }
    let streamed = chat(json!({"stream": true})).await.text;
    explained.push(crate::support::events(&streamed).0[1]["explanation"].clone());
    // Passed through, once for each reason.
    chat(json!({"index_name": ""})).await.ok();
    chat(json!({"tools": [{"type": "function", "function": {"name": "f"}}]})).await.ok();
    chat(json!({"messages": [{"role": "tool", "content": "x"}, {"role": "user", "content": "y"}]})).await.ok();
    let picture = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]);
    chat(json!({"messages": picture})).await.ok();
    let far = json!([{"role": "user", "content": "Which opera has a magic flute in it?"}]);
    explained.push(chat(json!({"messages": far})).await.ok()["explanation"].clone());
    explained.push(chat(json!({"max_tokens": 4})).await.ok()["explanation"].clone());
    // Refused by us, refused by the language model, and failed.
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
        // They are off by default.
        ("stage_duration_seconds_count{stage=rewrite}".to_owned(), 0.0),
        ("stage_duration_seconds_count{stage=rerank}".to_owned(), 0.0),
        ("stage_duration_seconds_count{stage=select}".to_owned(), 7.0),
        ("chunks_total{decision=selected,index=docs}".to_owned(), decided("selected")),
        ("chunks_total{decision=over_threshold,index=docs}".to_owned(), decided("over_threshold")),
        ("chunks_total{decision=over_budget,index=docs}".to_owned(), decided("over_budget")),
        ("chunks_total{decision=duplicate,index=docs}".to_owned(), 0.0),
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
        // Each whole reply reports 3 prompt tokens and 2 completion tokens, the stream 30 and 4.
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
async fn a_lowered_max_tokens_counts_once_per_chat() {
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
    // This `max_tokens` fits next to the conversation alone, but not next to the documents as well.
    body["max_tokens"] = json!(8192 - tokens("conversation_tokens"));
    let lowered = server.post("/v1/chat/completions", &body).await.ok()["explanation"].clone();
    let sent = upstream.last().json()["max_tokens"].as_u64().unwrap();
    assert_eq!(Some(sent), lowered["max_tokens"].as_u64());
    assert!(sent < 8192 - tokens("conversation_tokens"), "{sent}");
    let counted = async || counts(&server).await["max_tokens_lowered_total{index=docs}"];
    assert!((counted().await - 1.0).abs() < f64::EPSILON);
    // This chat lowers its `max_tokens` twice and still counts once.
    body["max_tokens"] = json!(100_000);
    server.post("/v1/chat/completions", &body).await.ok();
    assert!((counted().await - 2.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_stream_is_measured_while_it_runs() {
    let (say, said) = tokio::sync::watch::channel(false);
    let upstream = Upstream::scripted(move |_| {
        let mut said = said.clone();
        let first = futures_util::stream::iter([Ok::<_, std::io::Error>(delta("a"))]);
        let rest = futures_util::stream::once(async move {
            said.wait_for(|said| *said).await.unwrap();
            Ok(finish() + "data: [DONE]\n\n")
        });
        ([("content-type", "text/event-stream")], Body::from_stream(first.chain(rest))).into_response()
    })
    .await;
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", QUESTION);
    body["stream"] = json!(true);
    body["max_tokens"] = json!(100_000);
    let reply = server.request("/v1/chat/completions").body(body.to_string()).send().await.unwrap();
    let mut pieces = reply.bytes_stream();
    pieces.next().await.unwrap().unwrap();
    let counted = counts(&server).await;
    for series in [
        "requests_in_flight",
        "first_token_seconds_count{path=rag}",
        "stage_duration_seconds_count{stage=plan}",
        "stage_duration_seconds_count{stage=select}",
        "tokenizer_total{kind=estimate}",
        "max_tokens_lowered_total{index=docs}",
        "context_tokens_count{index=docs,part=used}",
        "similarity_count{index=docs,rank=best}",
    ] {
        assert_eq!(counted.get(series), Some(&1.0), "{series}: {counted:?}");
    }
    assert!(counted["chunks_total{decision=selected,index=docs}"] > 0.0);
    // The series of an index that is deleted during a chat are not recreated under another name.
    server.delete("/indexes/docs").await.ok();
    say.send(true).unwrap();
    while pieces.next().await.is_some() {}
    let counted = counts(&server).await;
    assert_eq!(counted.get("requests_total{index=other,outcome=ok,path=rag,reason=}"), Some(&1.0), "{counted:?}");
    assert!(
        counted
            .keys()
            .all(|series| !series.starts_with("chunks_total") && !series.contains("tokens_count{index=other"))
    );
}

#[tokio::test]
async fn a_built_in_stream_is_counted_when_it_begins() {
    let server = Server::start("retrieval: {maxDistance: 1.1}").await;
    server.add("docs", &FACTS).await;
    let mut body = ask("docs", QUESTION);
    body["stream"] = json!(true);
    let reply = server.request("/v1/chat/completions").body(body.to_string()).send().await.unwrap();
    let counted = counts(&server).await;
    assert_eq!(counted.get("requests_total{index=docs,outcome=ok,path=rag,reason=}"), Some(&1.0), "{counted:?}");
    assert_eq!(counted.get("first_token_seconds_count{path=rag}"), Some(&1.0));
    assert!(counted["tokens_total{direction=out,index=docs}"] > 0.0);
    drop(reply);
    assert_eq!(counts(&server).await, counted);
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

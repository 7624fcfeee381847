//! Traces of requests, received by a real collector.

use serde_json::{Value, json};

use crate::collector::{Collector, Span};
use crate::query::stores::test_redis::TestRedis;
use crate::support::process::Process;
use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Server, ask};

/// The trace of a caller.
const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A language model that answers in a sentence, streamed if requested.
async fn language_model() -> Upstream {
    Upstream::scripted(|body| {
        if body["stream"] == true {
            return event_reply([delta("In May."), finish(), "data: [DONE]\n\n".to_owned()].map(Ok).into());
        }
        let mut reply = completion("In May.");
        reply["usage"] = json!({"prompt_tokens": 70, "completion_tokens": 3, "total_tokens": 73});
        json_reply(200, &reply)
    })
    .await
}

async fn server(collector: &Collector, model: &Upstream, more: &str) -> Server {
    let settings = format!(
        "inferenceService: {{url: '{}', model: served}}\nretrieval: {{maxDistance: 1.1}}\n\
         tracing: {{otlpEndpoint: '{}'}}\n{more}",
        model.url,
        collector.endpoint()
    );
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    server
}

fn chat() -> Value {
    let mut body = ask("docs", "When is the annual tax return due?");
    body["model"] = json!("served");
    body
}

async fn send(server: &Server, path: &str, body: &Value) -> String {
    let request =
        reqwest::Client::new().post(format!("{}{path}", server.url)).header("traceparent", TRACEPARENT).json(body);
    let reply = request.send().await.unwrap();
    assert!(reply.status().is_success(), "{}", reply.status());
    reply.text().await.unwrap()
}

/// The spans of the caller's trace, once that of the request has arrived.
async fn trace(collector: &Collector, request: &str) -> Vec<Span> {
    let is_whole = |spans: &[Span]| spans.iter().any(|span| span.trace_id == TRACE_ID && span.name == request);
    let spans = collector.spans(is_whole).await;
    spans.into_iter().filter(|span| span.trace_id == TRACE_ID).collect()
}

fn by_name<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name} in {names:?}"))
}

fn parent<'a>(spans: &'a [Span], span: &Span) -> &'a str {
    let parent = spans.iter().find(|other| Some(&other.span_id) == span.parent_span_id.as_ref());
    parent.map_or("", |parent| parent.name.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_a_tree_of_spans_in_the_trace_of_its_caller() {
    let (collector, model) = (Collector::start(), language_model().await);
    let server = server(&collector, &model, "").await;
    send(&server, "/v1/chat/completions", &chat()).await;
    let spans = trace(&collector, "POST /v1/chat/completions").await;
    let request = by_name(&spans, "POST /v1/chat/completions");
    assert_eq!(request.parent_span_id.as_deref(), Some("b7ad6b7169203331"));
    assert_eq!((request.kind, request.status_code), ("server", "unset"));
    assert_eq!(request.attributes["http.response.status_code"], json!(200));
    assert_eq!(request.attributes["ragengine.path"], json!("rag"));
    assert_eq!(request.attributes["ragengine.index"], json!("docs"));
    assert_eq!(request.resource["service.name"], json!("ragengine"));
    for (span, expected) in [
        ("plan", "POST /v1/chat/completions"),
        ("embeddings all-MiniLM-L6-v2", "POST /v1/chat/completions"),
        ("retrieval docs", "POST /v1/chat/completions"),
        ("select", "POST /v1/chat/completions"),
        ("chat served", "POST /v1/chat/completions"),
    ] {
        assert_eq!(parent(&spans, by_name(&spans, span)), expected, "{span}");
    }
    let call = by_name(&spans, "chat served");
    assert_eq!(call.kind, "client");
    for (name, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.request.model", json!("served")),
        ("gen_ai.usage.input_tokens", json!(70)),
        ("gen_ai.usage.output_tokens", json!(3)),
        ("server.address", json!("127.0.0.1")),
    ] {
        assert_eq!(call.attributes.get(name), Some(&value), "{name}: {:?}", call.attributes);
    }
    // The language model's own spans become parts of the call.
    let sent = model.last().headers["traceparent"].to_str().unwrap().to_owned();
    assert_eq!(sent, format!("00-{TRACE_ID}-{}-01", call.span_id));
    let texts = format!("{spans:?}");
    assert!(!texts.contains("tax return") && !texts.contains("In May"), "{texts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_stage_of_a_conversation_has_a_span() {
    let (collector, model) = (Collector::start(), language_model().await);
    let stages = "endpoints: {query: {rerank: always, citations: true}}\nrewrite: {acronyms: {IRS: Internal Revenue}}";
    let server = server(&collector, &model, stages).await;
    let question =
        json!({"query": "When is the annual tax return due?", "session_id": "session-1", "index_name": "docs"});
    send(&server, "/query", &question).await;
    let first = trace(&collector, "POST /query").await;
    for stage in ["session", "cache", "acronyms", "filters", "feedback", "recency", "rerank", "diversity", "citations"]
    {
        assert!(by_name(&first, stage).attributes.contains_key("ragengine.stage.outcome"), "{stage}");
    }
    let rerank = by_name(&first, "rerank");
    assert_eq!(parent(&first, rerank), "retrieval docs");
    let calls: Vec<&str> =
        first.iter().filter(|span| span.name == "chat served").map(|call| parent(&first, call)).collect();
    assert!(calls.contains(&"rerank") && calls.contains(&"POST /query"), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_span_of_a_stream_ends_with_it_and_failures_are_marked() {
    let (collector, model) = (Collector::start(), language_model().await);
    let server = server(&collector, &model, "").await;
    let mut body = chat();
    body["stream"] = json!(true);
    let events = send(&server, "/v1/chat/completions", &body).await;
    assert!(events.contains("[DONE]"), "{events}");
    let spans = trace(&collector, "POST /v1/chat/completions").await;
    let call = by_name(&spans, "chat served");
    assert!(call.attributes.contains_key("gen_ai.response.time_to_first_chunk"), "{call:?}");
    let failing = Server::start(&format!(
        "inferenceService: {{url: 'http://127.0.0.1:9/v1', model: served}}\ntracing: {{otlpEndpoint: '{}'}}",
        collector.endpoint()
    ))
    .await;
    let chat = json!({"messages": [{"role": "user", "content": "Hi"}]});
    failing.post("/v1/chat/completions", &chat).await.error(502);
    let has_failed = |spans: &[Span]| spans.iter().any(|span| span.kind == "client" && span.status_code == "error");
    let spans = collector.spans(has_failed).await;
    let failed = spans.iter().find(|span| span.kind == "client" && span.status_code == "error").unwrap();
    assert_eq!(failed.attributes["error.type"], json!("llm_unreachable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_down_costs_spans_and_no_answers() {
    let (mut collector, model) = (Collector::start(), language_model().await);
    let server = server(&collector, &model, "").await;
    collector.stop();
    let body = chat();
    send(&server, "/v1/chat/completions", &body).await;
    let failed = || async {
        let metrics = server.get("/metrics").await.text;
        !metrics.contains("ragengine_traces_spans_total{outcome=\"failed\"} 0")
    };
    while !failed().await {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    collector.start_again();
    send(&server, "/v1/chat/completions", &body).await;
    assert!(!trace(&collector, "POST /v1/chat/completions").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_the_log_name_the_trace_and_the_last_spans_are_sent_at_the_end() {
    let collector = Collector::start();
    let data = tempfile::tempdir().unwrap();
    let (folder, endpoint) = (data.path().to_owned(), collector.endpoint());
    let server = tokio::task::spawn_blocking(move || {
        Process::start_with(&folder, &[("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str())])
    })
    .await
    .unwrap();
    let request = reqwest::Client::new().get(format!("{}/indexes", server.url)).header("traceparent", TRACEPARENT);
    assert_eq!(request.send().await.unwrap().status(), 200);
    let lines = server.log_lines();
    let line = lines.iter().find(|line| line["route"] == "/indexes").unwrap();
    assert_eq!(line["trace_id"], json!(TRACE_ID), "{line}");
    tokio::task::spawn_blocking(move || server.terminate()).await.unwrap();
    assert_eq!(trace(&collector, "GET /indexes").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_embedded_while_a_slow_store_looks_for_its_answer() {
    let (collector, model, redis) = (Collector::start(), language_model().await, TestRedis::start());
    let options = redis.options("default");
    let data = tempfile::tempdir().unwrap();
    let password = data.path().join("password");
    std::fs::write(&password, options.password.unwrap_or_default()).unwrap();
    let more = format!(
        "redis: {{url: '{}', password: {{file: {}}}}}\nendpoints: {{chat: {{reformulate: false}}}}",
        options.url,
        password.display()
    );
    let server = server(&collector, &model, &more).await;
    // Until the store is connected, a look-up fails at once.
    while !server.get("/metrics").await.text.contains("ragengine_cache_look_ups_total{outcome=\"miss\"} 1") {
        server.post("/chat", &json!({"query": "Where do cats sleep?"})).await.ok();
    }
    redis.freeze(true);
    send(&server, "/chat", &json!({"query": "When is the annual tax return due?"})).await;
    redis.freeze(false);
    let spans = trace(&collector, "POST /chat").await;
    let embedding = spans.iter().find(|span| span.name.starts_with("embeddings ")).unwrap();
    let outcome = &by_name(&spans, "cache").attributes["ragengine.stage.outcome"];
    assert_eq!(parent(&spans, embedding), "cache", "{outcome} {spans:?}");
}

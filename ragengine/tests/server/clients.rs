//! Runs tests/clients: third-party Python clients, which `make setup` installs, against the built-in model and a
//! scripted language model.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, event_reply, json_reply, text_reply};
use crate::support::{FACTS, Server};

#[tokio::test(flavor = "multi_thread")]
async fn openais_client_works() {
    pytest("RAGENGINE_PYTHON", &["test_openai.py", "test_openai_scripted.py"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn langchain_works() {
    pytest("RAGENGINE_PYTHON", &["test_langchain.py"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn llama_index_works() {
    pytest("RAGENGINE_LLAMA_INDEX_PYTHON", &["test_llama_index.py"]).await;
}

/// Runs these test files with the Python interpreter that the environment variable names.
async fn pytest(variable: &str, files: &[&str]) {
    let python = std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: use `make test`"));
    let upstream = scripted().await;
    let with_upstream = Server::start(&upstream.settings()).await;
    let extractive = Server::shared();
    with_upstream.add("client", &FACTS).await;
    extractive.add("client", &FACTS).await;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let mut pytest = Command::new(python);
    pytest
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .args(files.iter().map(|file| folder.join(file)))
        .env("SERVERS", format!("extractive={} scripted={}", extractive.url, with_upstream.url))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = tokio::task::spawn_blocking(move || pytest.output().unwrap()).await.unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A language model that behaves as the requested model name says.
async fn scripted() -> Upstream {
    let asked_of_busy = AtomicUsize::new(0);
    let models = json!({"object": "list", "data": [
        {"id": "served", "object": "model", "created": 1, "owned_by": "tests", "max_model_len": 8192}
    ]});
    Upstream::with_models(models, move |body| match body["model"].as_str().unwrap_or_default() {
        "silent" => without_end(vec![]),
        "stuck" => without_end(vec![chunk("Hel", None)]),
        "nonsense" => text_reply(200, "<html>It works!</html>"),
        "echo" => json_reply(200, &echo(body)),
        "json" => json_reply(200, &structured()),
        "busy" if asked_of_busy.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => refusal(503, "0"),
        name if name.starts_with("status-") => refusal(name["status-".len()..].parse().unwrap(), "7"),
        _ if body["stream"] == true => event_reply(greeting(&body).into_iter().map(Ok).collect()),
        _ => json_reply(200, &completion("Hello.")),
    })
    .await
}

/// The events of a streamed "Hello.", with the usage if it was requested.
fn greeting(body: &Value) -> Vec<String> {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    let usage = Some(event(json!([]), usage)).filter(|_| body["stream_options"]["include_usage"] == true);
    let pieces = [chunk("Hel", None), chunk("lo.", None), chunk("", Some("stop"))];
    pieces.into_iter().chain(usage).chain(["data: [DONE]\n\n".to_owned()]).collect()
}

fn chunk(content: &str, finish_reason: Option<&str>) -> String {
    event(json!([{"index": 0, "delta": {"content": content}, "finish_reason": finish_reason}]), Value::Null)
}

/// An event with every field of OpenAI's chunks. OpenAI's client reads `object`.
fn event(choices: Value, usage: Value) -> String {
    let chunk = json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "served", "choices": choices,
        "usage": usage
    });
    format!("data: {chunk}\n\n")
}

/// A stream that sends these events and then stays open in silence.
fn without_end(events: Vec<String>) -> Response {
    let events = stream::iter(events.into_iter().map(Ok::<_, std::io::Error>)).chain(stream::pending());
    ([("content-type", "text/event-stream")], Body::from_stream(events)).into_response()
}

/// A reply that contains the request.
fn echo(request: Value) -> Value {
    let mut reply = completion("Hello.");
    reply["request"] = request;
    reply
}

/// A reply whose content is JSON and whose finish reason is `stop`.
fn structured() -> Value {
    let mut reply = completion(r#"{"answer": "Hello."}"#);
    reply["choices"][0]["finish_reason"] = json!("stop");
    reply
}

fn refusal(status: u16, retry_after: &'static str) -> Response {
    let error = json!({"error": {"message": "the model says no", "type": "its_type", "code": "its_code"}});
    let mut response = json_reply(status, &error);
    response.headers_mut().insert("retry-after", HeaderValue::from_static(retry_after));
    response
}

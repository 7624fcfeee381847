//! Other people's clients in Python, which `make setup` installs, against both kinds of language model: tests/clients.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};

use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply, text_reply};
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

/// Runs these files with the Python that the variable names.
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

/// A language model whose name says what it does.
async fn scripted() -> Upstream {
    let asked_of_busy = AtomicUsize::new(0);
    Upstream::scripted(move |body| match (body["model"].as_str().unwrap_or_default(), body["stream"] == true) {
        ("silent", _) => Response::new(Body::from_stream(stream::pending::<Result<String, std::io::Error>>())),
        ("nonsense", _) => text_reply(200, "<html>It works!</html>"),
        ("broken", _) => event_reply(vec![Ok(delta("Hel")), Err(std::io::Error::other("broken"))]),
        ("echo", _) => json_reply(200, &echo(body)),
        ("json", _) => json_reply(200, &structured()),
        ("busy", _) if asked_of_busy.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) => refusal(503, "0"),
        (name, _) if name.starts_with("status-") => refusal(name["status-".len()..].parse().unwrap(), "7"),
        (_, true) => event_reply(greeting(&body).into_iter().map(Ok).collect()),
        _ => json_reply(200, &completion("Hello.")),
    })
    .await
}

/// "Hello." in a stream, with the usage where it is asked for.
fn greeting(body: &Value) -> Vec<String> {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5});
    let usage = format!("data: {}\n\n", json!({"id": "c1", "choices": [], "usage": usage}));
    let usage = Some(usage).filter(|_| body["stream_options"]["include_usage"] == true);
    let pieces = [delta("Hel"), delta("lo."), finish()];
    pieces.into_iter().chain(usage).chain(["data: [DONE]\n\n".to_owned()]).collect()
}

/// A reply with the request in it.
fn echo(request: Value) -> Value {
    let mut reply = completion("Hello.");
    reply["request"] = request;
    reply
}

/// A reply that is JSON, and whole.
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

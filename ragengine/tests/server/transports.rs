//! Connections to the language model through reqwest: passwords in the URL, and proxies. Other tests connect directly.

use serde_json::{Value, json};

use crate::support::process::Process;
use crate::support::upstream::{Upstream, completion, delta, event_reply, finish, json_reply};
use crate::support::{Server, events};

fn chat() -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})
}

fn streamed_chat() -> Value {
    json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]})
}

/// A language model that answers "Hello.", streamed if requested.
async fn upstream() -> Upstream {
    Upstream::scripted(|body| {
        if body["stream"] == true {
            event_reply([delta("Hello."), finish(), "data: [DONE]\n\n".to_owned()].map(Ok).into())
        } else {
            json_reply(200, &completion("Hello."))
        }
    })
    .await
}

#[tokio::test]
async fn a_password_in_the_url_is_sent_and_never_shown() {
    let upstream = upstream().await;
    let url = upstream.url.replace("http://", "http://me:secret@");
    let server = Server::start(&format!("{{inferenceService: {{url: '{url}', timeoutSeconds: 2}}}}")).await;
    let whole = server.post("/v1/chat/completions", &chat()).await.ok();
    assert_eq!(whole["choices"][0]["message"]["content"], "Hello.");
    let (chunks, is_done) = events(&server.post("/v1/chat/completions", &streamed_chat()).await.text);
    assert!(is_done && chunks[0]["choices"][0]["delta"]["content"] == "Hello.", "{chunks:?}");
    for request in upstream.received() {
        assert_eq!(request.headers["authorization"], "Basic bWU6c2VjcmV0");
    }

    let unreachable = Server::start("{inferenceService: {url: 'http://me:secret@127.0.0.1:9/v1'}}").await;
    let refusal = unreachable.post("/v1/chat/completions", &chat()).await.error(502);
    assert!(refusal.contains("cannot be reached") && !refusal.contains("secret"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_of_the_environment_is_used() {
    // A proxy receives the full URL of each request. This one answers in place of the requested host.
    let proxy = upstream().await;
    let address = proxy.url.trim_end_matches("/v1").to_owned();
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().to_owned();
    let server = tokio::task::spawn_blocking(move || {
        let environment = [
            ("LLM_URL", "http://llm.example/v1"),
            ("HTTP_PROXY", &address),
            ("http_proxy", &address),
            ("NO_PROXY", ""),
            ("no_proxy", ""),
        ];
        Process::start_with(&folder, &environment)
    })
    .await
    .unwrap();
    let request =
        reqwest::Client::builder().no_proxy().build().unwrap().post(format!("{}/v1/chat/completions", server.url));
    let reply = request.json(&chat()).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["choices"][0]["message"]["content"], "Hello.");
    assert_eq!(proxy.last().headers["host"], "llm.example");
    tokio::task::spawn_blocking(move || server.terminate()).await.unwrap();
}

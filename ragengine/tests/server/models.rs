//! The list of models, and which of them clients may use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::support::upstream::{Upstream, completion, json_reply, text_reply};
use crate::support::{FACTS, Server, ask};

async fn listing(models: &[&str]) -> Upstream {
    let data: Vec<Value> = models.iter().map(|id| json!({"id": id, "max_model_len": 8192})).collect();
    Upstream::with_models(json!({"object": "list", "data": data}), |_| json_reply(200, &completion("Hello."))).await
}

async fn server(upstream: &Upstream, models: &str) -> Server {
    let server = Server::start(&format!(
        "{{inferenceService: {{url: '{}', {models}}}, retrieval: {{maxDistance: 1.1}}}}",
        upstream.url
    ))
    .await;
    server.add("docs", &FACTS).await;
    server
}

/// A passed-through chat and a chat about an index.
fn both(model: Option<&str>) -> [Value; 2] {
    let about = ask("docs", "When is the annual tax return due?");
    let through = json!({"messages": about["messages"]});
    [through, about].map(|mut body| {
        body["model"] = json!(model);
        body
    })
}

#[tokio::test]
async fn only_allowed_models_are_accepted_on_both_paths() {
    let upstream = listing(&["large", "b", "a"]).await;
    let server = server(&upstream, "models: [a, b], model: mine").await;
    for body in both(Some("large")) {
        let refused = server.post("/v1/chat/completions", &body).await;
        let message = refused.error(400);
        assert!(message.contains("'large'") && message.contains("'mine', 'a', 'b'"), "{message}");
        assert!(message.contains("inferenceService.models"), "{message}");
        let error = &refused.json()["error"];
        assert_eq!((&error["param"], &error["code"]), (&json!("model"), &json!("model_not_allowed")));
    }
    // The field `models`, with which some endpoints choose fallback models, is checked as well.
    for mut body in both(Some("a")) {
        body["models"] = json!(["b", "large"]);
        assert!(server.post("/v1/chat/completions", &body).await.error(400).contains("'large'"));
    }
    assert!(upstream.received().is_empty());
    for (model, asked) in [(Some("a"), "a"), (Some("mine"), "mine"), (None, "mine"), (Some(""), "mine")] {
        for body in both(model) {
            server.post("/v1/chat/completions", &body).await.ok();
            assert_eq!(upstream.last().json()["model"], asked);
        }
    }
}

#[tokio::test]
async fn a_duplicate_model_field_cannot_select_a_forbidden_model() {
    let upstream = listing(&["a"]).await;
    let server = server(&upstream, "models: [a]").await;
    for body in [
        r#"{"model": "large", "messages": [{"role": "user", "content": "Hi"}], "model": "a"}"#,
        r#"{"model": "a", "messages": [{"role": "user", "content": "Hi"}], "model": "large"}"#,
    ] {
        server.post_bytes("/v1/chat/completions", body).await;
    }
    for received in upstream.received() {
        let sent = String::from_utf8(received.body.to_vec()).unwrap();
        assert!(!sent.contains("large"), "{sent}");
    }
}

#[tokio::test]
async fn the_default_model_is_the_first_listed_and_allowed_one() {
    let upstream = listing(&["large", "b", "a"]).await;
    for (models, asked) in [("models: [a, b]", "b"), ("models: [c]", "c"), ("models: []", "large")] {
        let server = server(&upstream, models).await;
        for body in both(None) {
            server.post("/v1/chat/completions", &body).await.ok();
            assert_eq!(upstream.last().json()["model"], asked);
        }
    }
}

#[tokio::test]
async fn the_list_shows_only_allowed_models() {
    let upstream = listing(&["large", "b", "a"]).await;
    let server = server(&upstream, "models: [a, b]").await;
    let listed = server.get("/v1/models").await;
    assert_eq!(listed.headers["content-type"], "application/json");
    let ids: Vec<Value> = listed.ok()["data"].as_array().unwrap().iter().map(|model| model["id"].clone()).collect();
    assert_eq!(ids, ["b", "a"]);
    assert_eq!(server.get("/v1/models/a").await.ok(), json!({"id": "a", "max_model_len": 8192}));
    assert!(server.get("/v1/models/large").await.error(404).contains("'large'"));
}

#[tokio::test]
async fn a_refusal_of_the_list_keeps_its_status_and_message() {
    for (status, text, expected) in [
        (401, r#"{"error": {"message": "bad key", "type": "auth"}}"#, "bad key"),
        (429, "slow down", "the language model answered 429: slow down"),
        (503, r#"{"error": {"message": "loading", "code": 7}}"#, "loading"),
    ] {
        let upstream = Upstream::listing(
            move |_| {
                let mut reply = text_reply(status, text);
                reply.headers_mut().insert("retry-after", "7".parse().unwrap());
                reply
            },
            |_| unreachable!(),
        )
        .await;
        let server = Server::start(&upstream.settings()).await;
        for path in ["/v1/models", "/v1/models/a"] {
            let reply = server.get(path).await;
            assert_eq!(reply.error(status), expected);
            assert_eq!(reply.headers["retry-after"], "7");
        }
    }
    let upstream = Upstream::listing(|_| text_reply(200, "<html>"), |_| unreachable!()).await;
    let nonsense = Server::start(&upstream.settings()).await.get("/v1/models").await;
    assert!(nonsense.error(502).contains("not JSON, of 6 bytes"), "{}", nonsense.text);
}

/// The URL of an endpoint that lists its models once `go_on` is notified, and the number of requests for the list.
async fn slow(go_on: &Arc<Notify>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (asked, go_on) = (Arc::new(AtomicUsize::new(0)), Arc::clone(go_on));
    let counter = Arc::clone(&asked);
    let list = move || async move {
        counter.fetch_add(1, Ordering::Relaxed);
        go_on.notified().await;
        json_reply(200, &json!({"data": [{"id": "m"}]}))
    };
    let router = axum::Router::new()
        .route("/v1/models", get(list))
        .route("/v1/chat/completions", axum::routing::post(async || json_reply(200, &completion("Hello."))));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, asked)
}

#[tokio::test]
async fn a_slow_list_is_requested_once_and_delays_no_other_request() {
    let go_on = Arc::new(Notify::new());
    let (url, asked) = slow(&go_on).await;
    let server = Server::start(&format!("{{inferenceService: {{url: '{url}', probeSeconds: 0, model: m}}}}")).await;
    let callers: Vec<_> = (0..64).map(|_| tokio::spawn(server_list(&server))).collect();
    let waiting = "ragengine_requests_waiting{work=\"models\"} 64";
    for _ in 0..3000 {
        if server.get("/metrics").await.text.contains(waiting) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let refused = server.get("/v1/models").await;
    assert!(refused.error(429).contains("slow to list its models"), "{}", refused.text);
    assert_eq!(refused.headers["retry-after"], "1");
    // Chats and lookups do not wait for it.
    let through = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    server.post("/v1/chat/completions", &through).await.ok();
    server.get("/indexes").await.ok();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    go_on.notify_one();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), json!({"data": [{"id": "m"}]}));
    }
    // The list is cached for a while.
    assert_eq!(server.get("/v1/models/m").await.ok()["id"], "m");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

fn server_list(server: &Server) -> impl Future<Output = Value> + use<> {
    let url = format!("{}/v1/models", server.url);
    async move { reqwest::get(url).await.unwrap().json().await.unwrap() }
}

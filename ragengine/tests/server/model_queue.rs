//! The queue before the language model.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse as _;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::upstream::{Upstream, completion, delta, finish};
use crate::support::{Server, events};

const COMMENT: &str = ": keep-alive\n\n";

fn chat(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]})
}

/// A language model that ends one answer for each permit.
async fn thoughtful(may_end: &Arc<Semaphore>) -> Upstream {
    let may_end = Arc::clone(may_end);
    Upstream::scripted(move |body| {
        let may_end = Arc::clone(&may_end);
        let (begins, ends, content_type) = match body["stream"] == true {
            true => (delta("a"), finish() + "data: [DONE]\n\n", "text/event-stream"),
            false => (String::new(), completion("Hello.").to_string(), "application/json"),
        };
        let words = futures_util::stream::iter([begins]).chain(futures_util::stream::once(async move {
            may_end.acquire().await.unwrap().forget();
            ends
        }));
        let body = Body::from_stream(words.map(Ok::<_, std::io::Error>));
        ([("content-type", content_type)], body).into_response()
    })
    .await
}

/// One chat at a time, and one that waits.
async fn server(upstream: &Upstream, queue_timeout_seconds: u64) -> Server {
    Server::start(&format!(
        "{{inferenceService: {{url: '{}', maxConcurrentRequests: 1, maxWaitingRequests: 1, queueTimeoutSeconds: {queue_timeout_seconds}, \
         timeoutSeconds: 60}}, chat: {{keepAliveSeconds: 1}}}}",
        upstream.url
    ))
    .await
}

/// Waits until so many chats wait.
async fn wait_until_waiting(server: &Server, count: usize) {
    let line = format!("ragengine_requests_waiting{{work=\"language_model\"}} {count}");
    for _ in 0..3000 {
        if server.get("/metrics").await.text.contains(&line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never seen: {line}");
}

/// A chat that has the language model until it may end.
async fn begun(server: &Server) -> reqwest::Response {
    let mut asking = server.request("/v1/chat/completions").body(chat(true).to_string()).send().await.unwrap();
    // A slow machine may get a comment before.
    while asking.chunk().await.unwrap().unwrap() == COMMENT {}
    asking
}

#[tokio::test]
async fn one_waits_for_its_turn_and_is_kept_alive_and_one_more_is_refused() {
    let may_end = Arc::new(Semaphore::new(0));
    let upstream = thoughtful(&may_end).await;
    let server = server(&upstream, 60).await;
    let first = begun(&server).await;
    let waiting = server.request("/v1/chat/completions").body(chat(true).to_string()).send();
    let waiting = async {
        let mut waiting = waiting.await.unwrap();
        // It has begun without the language model, which has not been asked.
        assert_eq!(waiting.chunk().await.unwrap().unwrap(), COMMENT.as_bytes());
        assert_eq!(upstream.received().len(), 1);
        let refused = server.post("/v1/chat/completions", &chat(false)).await;
        assert!(refused.error(429).contains("inferenceService.maxWaitingRequests"), "{}", refused.text);
        assert_eq!(
            (&refused.headers["retry-after"], &refused.json()["error"]["code"]),
            (&"1".parse().unwrap(), &json!("llm_queue_full"))
        );
        may_end.add_permits(2);
        waiting.text().await.unwrap()
    };
    let (text, whole) = tokio::join!(waiting, first.text());
    assert_eq!(text.replace(COMMENT, ""), format!("{}{}data: [DONE]\n\n", delta("a"), finish()));
    assert!(whole.unwrap().ends_with("data: [DONE]\n\n"));
    let metrics = server.get("/metrics").await.text;
    for line in [
        r#"ragengine_requests_refused_total{reason="queue_full",work="language_model"} 1"#,
        r#"ragengine_requests_waiting{work="language_model"} 0"#,
        r#"ragengine_chat_requests_total{index="",outcome="refused",path="passthrough",reason="no_index"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn who_waits_too_long_is_told_and_who_leaves_makes_room() {
    let may_end = Arc::new(Semaphore::new(0));
    let upstream = thoughtful(&may_end).await;
    let server = server(&upstream, 2).await;
    let first = begun(&server).await;
    // A stream has begun by then: the refusal is its last event.
    let (chunks, is_done) = events(&server.post("/v1/chat/completions", &chat(true)).await.text.replace(COMMENT, ""));
    assert_eq!((is_done, &chunks[0]["error"]["code"]), (false, &json!("llm_waited_too_long")));
    let refused = server.post("/v1/chat/completions", &chat(false)).await;
    assert!(refused.error(429).contains("inferenceService.queueTimeoutSeconds"), "{}", refused.text);
    assert_eq!(refused.headers["retry-after"], "5");
    // Its place in the queue is free as soon as it is gone.
    let leaving = server.request("/v1/chat/completions").body(chat(false).to_string());
    let leaving = tokio::spawn(leaving.send());
    wait_until_waiting(&server, 1).await;
    leaving.abort();
    wait_until_waiting(&server, 0).await;
    assert_eq!(upstream.received().len(), 1);
    let line = r#"ragengine_requests_refused_total{reason="waited_too_long",work="language_model"} 2"#;
    assert!(server.get("/metrics").await.text.contains(line), "it left before its time was over");
    drop(first);
    // The answer that was given up may take one of them yet.
    may_end.add_permits(2);
    server.post("/v1/chat/completions", &chat(false)).await.ok();
}

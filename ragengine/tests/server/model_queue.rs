//! The queue of chats that wait for the language model.

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

/// A language model that finishes one answer for each permit.
async fn gated_model(may_end: &Arc<Semaphore>) -> Upstream {
    let may_end = Arc::clone(may_end);
    Upstream::scripted(move |body| {
        let may_end = Arc::clone(&may_end);
        let (begins, ends, content_type) = if body["stream"] == true {
            (delta("a"), finish() + "data: [DONE]\n\n", "text/event-stream")
        } else {
            (String::new(), completion("Hello.").to_string(), "application/json")
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

/// A server that sends one chat at a time to the language model and lets one more wait.
async fn server(upstream: &Upstream, queue_timeout_seconds: u64) -> Server {
    Server::start(&format!(
        "{{inferenceService: {{url: '{}', maxConcurrentRequests: 1, maxWaitingRequests: 1, \
         queueTimeoutSeconds: {queue_timeout_seconds}, timeoutSeconds: 60}}, chat: {{keepAliveSeconds: 1}}}}",
        upstream.url
    ))
    .await
}

/// Waits until `count` chats are in the queue.
async fn wait_until_waiting(server: &Server, count: usize) {
    let line = format!("ragengine_requests_waiting{{work=\"language_model\"}} {count}");
    for _ in 0..3000 {
        if server.get("/metrics").await.text.contains(&line) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the metrics never contained {line}");
}

/// Begins a streamed chat that occupies the language model until it gets a permit.
async fn begun(server: &Server) -> reqwest::Response {
    let mut asking = server.request("/v1/chat/completions").body(chat(true).to_string()).send().await.unwrap();
    // On a slow machine a comment may arrive before the first word.
    while asking.chunk().await.unwrap().unwrap() == COMMENT {}
    asking
}

#[tokio::test]
async fn a_queued_chat_is_kept_alive_and_one_over_the_queue_limit_is_refused() {
    let may_end = Arc::new(Semaphore::new(0));
    let upstream = gated_model(&may_end).await;
    let server = server(&upstream, 60).await;
    let first = begun(&server).await;
    let waiting = server.request("/v1/chat/completions").body(chat(true).to_string()).send();
    let waiting = async {
        let mut waiting = waiting.await.unwrap();
        // The reply has begun, although the language model has not got the request.
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
async fn a_chat_that_waits_too_long_is_refused_and_a_client_that_leaves_frees_its_place() {
    let may_end = Arc::new(Semaphore::new(0));
    let upstream = gated_model(&may_end).await;
    let server = server(&upstream, 2).await;
    let first = begun(&server).await;
    // A stream has begun by the time of the refusal, so the refusal is its last event.
    let (chunks, is_done) = events(&server.post("/v1/chat/completions", &chat(true)).await.text.replace(COMMENT, ""));
    assert_eq!((is_done, &chunks[0]["error"]["code"]), (false, &json!("llm_waited_too_long")));
    let refused = server.post("/v1/chat/completions", &chat(false)).await;
    assert!(refused.error(429).contains("inferenceService.queueTimeoutSeconds"), "{}", refused.text);
    assert_eq!(refused.headers["retry-after"], "5");
    // A client that leaves frees its place in the queue at once.
    let leaving = server.request("/v1/chat/completions").body(chat(false).to_string());
    let leaving = tokio::spawn(leaving.send());
    wait_until_waiting(&server, 1).await;
    leaving.abort();
    wait_until_waiting(&server, 0).await;
    assert_eq!(upstream.received().len(), 1);
    let line = r#"ragengine_requests_refused_total{reason="waited_too_long",work="language_model"} 2"#;
    assert!(
        server.get("/metrics").await.text.contains(line),
        "a client that leaves is not counted as one that waited too long"
    );
    drop(first);
    // The abandoned first answer may still consume one of the permits.
    may_end.add_permits(2);
    server.post("/v1/chat/completions", &chat(false)).await.ok();
}

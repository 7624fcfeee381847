//! More than the server can do: what is refused, with which words, and that the rest goes on. An embedder that waits for the test
//! stands for work that takes long.

mod flood;
mod slow_reader;
mod stopping;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::{Reply, Server, ask};

const WIDTH: usize = 32;

/// What the embedder thinks about until it is told to go on.
const DIFFICULT: &str = "difficult";

/// An embedder, and how often it may answer what is difficult.
async fn thoughtful() -> (RemoteEmbedder, Arc<Semaphore>) {
    let answers = Arc::new(Semaphore::new(0));
    let given = Arc::clone(&answers);
    let embedder = RemoteEmbedder::scripted(move |inputs| {
        let answer = reply(&inputs, |text| words(text, WIDTH));
        match inputs.iter().any(|input| input.contains(DIFFICULT)) {
            true => after(Arc::clone(&given), answer),
            false => answer,
        }
    })
    .await;
    (embedder, answers)
}

/// The same reply, whose body comes when it may.
fn after(answers: Arc<Semaphore>, answer: Response) -> Response {
    let (head, body) = answer.into_parts();
    let allowed = stream::once(async move {
        answers.acquire().await.unwrap().forget();
        Ok(Bytes::new())
    });
    Response::from_parts(head, Body::from_stream(allowed.chain(body.into_data_stream())))
}

async fn server(limits: &str) -> (Server, Arc<Semaphore>, RemoteEmbedder) {
    let (embedder, answers) = thoughtful().await;
    let server = Server::start(&embedder.settings("m", &format!("limits: {{{limits}}}"))).await;
    server.add("docs", &[("a", "easy words")]).await;
    (server, answers, embedder)
}

fn question() -> Value {
    json!({"index_name": "docs", "query": DIFFICULT})
}

fn document(text: &str) -> Value {
    json!({"index_name": "docs", "documents": [{"text": text}]})
}

impl Server {
    /// Sends a request and does not wait for its reply.
    fn begin(&self, path: &str, body: &Value) -> tokio::task::JoinHandle<Reply> {
        let request = self.request(path).body(body.to_string());
        tokio::spawn(async move { Self::reply(request).await })
    }

    /// Waits until a metric has this line.
    async fn wait_for_metric(&self, line: &str) {
        for _ in 0..1000 {
            if self.get("/metrics").await.text.lines().any(|known| known == line) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("{line} is not in\n{}", self.get("/metrics").await.text);
    }
}

#[tokio::test]
async fn a_full_queue_is_a_429_and_the_others_go_on() {
    let (server, answers, _embedder) =
        server("maxRunningReads: 1, maxWaitingReads: 0, maxRunningChats: 1, maxWaitingChats: 0, maxRunningWrites: 1, maxWaitingWrites: 0")
            .await;
    for (path, body, work) in [
        ("/retrieve", question(), "read"),
        ("/v1/chat/completions", ask("docs", DIFFICULT), "chat"),
        ("/index", document(DIFFICULT), "write"),
    ] {
        let first = server.begin(path, &body);
        server.wait_for_metric(&format!("ragengine_requests_running{{work=\"{work}\"}} 1")).await;
        let refused = server.post(path, &body).await;
        assert!(refused.error(429).contains("limits.maxWaiting"), "{}", refused.text);
        assert_eq!(refused.headers["retry-after"], "1");
        if path.starts_with("/v1/") {
            assert_eq!(refused.json()["error"]["type"], "rate_limit_error");
        }
        // Who looks after the server always gets in.
        for path in ["/livez", "/readyz", "/status", "/metrics", "/v1/models"] {
            assert_eq!(server.get(path).await.status, 200, "{path}");
        }
        answers.add_permits(1);
        first.await.unwrap().ok();
    }
    let metrics = server.get("/metrics").await.text;
    for work in ["read", "chat", "write"] {
        let line = format!("ragengine_requests_refused_total{{reason=\"queue_full\",work=\"{work}\"}} 1");
        assert!(metrics.contains(&line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn what_nobody_waits_for_any_more_is_never_begun() {
    let (server, answers, embedder) = server("maxRunningWrites: 1, maxWaitingWrites: 1").await;
    let first = server.begin("/index", &document(DIFFICULT));
    server.wait_for_metric(r#"ragengine_requests_running{work="write"} 1"#).await;
    let second = server.begin("/index", &document("left behind"));
    server.wait_for_metric(r#"ragengine_requests_waiting{work="write"} 1"#).await;
    second.abort();
    server.wait_for_metric(r#"ragengine_requests_waiting{work="write"} 0"#).await;
    let before = embedder.embedded();
    answers.add_permits(1);
    first.await.unwrap().ok();
    server.post("/index", &document("the last")).await.ok();
    assert_eq!(embedder.embedded(), before + 1);
    assert_eq!(server.get("/indexes/docs").await.ok()["documents"], 3);
}

#[tokio::test]
async fn a_request_has_its_time() {
    let (server, _answers, _embedder) =
        server("maxRunningReads: 1, readTimeoutSeconds: 1, writeTimeoutSeconds: 1").await;
    let late = server.begin("/retrieve", &question());
    server.wait_for_metric(r#"ragengine_requests_running{work="read"} 1"#).await;
    assert!(late.await.unwrap().error(504).contains("limits.readTimeoutSeconds"));
    let chat = server.post("/v1/chat/completions", &ask("docs", DIFFICULT)).await;
    assert!(chat.error(504).contains("limits.readTimeoutSeconds"));
    let write = server.post("/index", &document(DIFFICULT)).await;
    assert!(write.error(504).contains("limits.writeTimeoutSeconds"));
    // All of them gave back what they held.
    server.found("docs", "easy", 1).await;
}

#[tokio::test]
async fn large_bodies_that_fill_the_room_are_a_429_and_questions_get_in() {
    let (server, _answers, _embedder) = server("maxBodyBytes: 400000, maxBodiesBytes: 400000").await;
    let sent: Vec<Result<Vec<u8>, std::io::Error>> = vec![Ok(vec![b' '; 300_000])];
    let unfinished = reqwest::Body::wrap_stream(stream::iter(sent).chain(stream::pending()));
    let first = server.request("/index").body(unfinished);
    let first = tokio::spawn(async move { drop(first.send().await) });
    server.wait_for_metric(&format!("ragengine_request_bodies_bytes {}", 300_000 - (64 << 10))).await;
    let large = vec![b' '; 300_000];
    let refused = server.post_bytes("/index", large.clone()).await;
    assert!(refused.error(429).contains("limits.maxBodiesBytes"));
    assert_eq!(refused.headers["retry-after"], "1");
    server.found("docs", "easy", 1).await;
    // Its room is free when its client has left.
    first.abort();
    server.wait_for_metric("ragengine_request_bodies_bytes 0").await;
    server.post_bytes("/index", large).await.error(422);
}

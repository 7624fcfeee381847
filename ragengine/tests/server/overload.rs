//! More requests than the server can handle: some are refused with an error that names the limit, and the others
//! continue. An embedder that waits for the test simulates slow work.

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

/// The embedder answers texts with this word only when it gets a permit.
const DIFFICULT: &str = "difficult";

/// An embedder, and the permits for its difficult texts.
async fn gated_embedder() -> (RemoteEmbedder, Arc<Semaphore>) {
    let answers = Arc::new(Semaphore::new(0));
    let given = Arc::clone(&answers);
    let embedder = RemoteEmbedder::scripted(move |inputs| {
        let answer = reply(&inputs, |text| words(text, WIDTH));
        if inputs.iter().any(|input| input.contains(DIFFICULT)) { after(Arc::clone(&given), answer) } else { answer }
    })
    .await;
    (embedder, answers)
}

/// The same reply, with a body that waits for a permit.
fn after(answers: Arc<Semaphore>, answer: Response) -> Response {
    let (head, body) = answer.into_parts();
    let allowed = stream::once(async move {
        answers.acquire().await.unwrap().forget();
        Ok(Bytes::new())
    });
    Response::from_parts(head, Body::from_stream(allowed.chain(body.into_data_stream())))
}

async fn server(limits: &str) -> (Server, Arc<Semaphore>, RemoteEmbedder) {
    let (embedder, answers) = gated_embedder().await;
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
    /// Sends a request without waiting for its reply.
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
async fn a_full_queue_answers_429_and_other_work_continues() {
    let (server, answers, _embedder) = server(
        "maxRunningReads: 1, maxWaitingReads: 0, maxRunningChats: 1, maxWaitingChats: 0, maxRunningWrites: 1, \
             maxWaitingWrites: 0",
    )
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
        // Probes, monitors and the list of models do not wait in these queues.
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
async fn a_queued_request_whose_client_left_is_never_started() {
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
async fn a_request_has_a_time_limit() {
    let (server, _answers, _embedder) =
        server("maxRunningReads: 1, readTimeoutSeconds: 1, writeTimeoutSeconds: 1").await;
    let late = server.begin("/retrieve", &question());
    server.wait_for_metric(r#"ragengine_requests_running{work="read"} 1"#).await;
    assert!(late.await.unwrap().error(504).contains("limits.readTimeoutSeconds"));
    let chat = server.post("/v1/chat/completions", &ask("docs", DIFFICULT)).await;
    assert!(chat.error(504).contains("limits.readTimeoutSeconds"));
    let write = server.post("/index", &document(DIFFICULT)).await;
    assert!(write.error(504).contains("limits.writeTimeoutSeconds"));
    // The timed-out requests have freed their places.
    server.found("docs", "easy", 1).await;
}

#[tokio::test]
async fn large_bodies_over_the_limit_get_429_and_small_ones_get_in() {
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
    // A client that leaves frees the memory of its body.
    first.abort();
    server.wait_for_metric("ragengine_request_bodies_bytes 0").await;
    server.post_bytes("/index", large).await.error(422);
}

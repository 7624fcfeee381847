use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::support::upstream::{Upstream, delta, event_reply, finish};
use crate::support::{FACTS, Server, ask, events};

async fn server(upstream: &Upstream) -> Server {
    let server = Server::start(&upstream.settings()).await;
    server.add("docs", &FACTS).await;
    server
}

fn streaming(question: &str) -> serde_json::Value {
    let mut body = ask("docs", question);
    body["stream"] = json!(true);
    body
}

#[tokio::test]
async fn a_stream_is_passed_on_with_the_sources_at_its_end() {
    let usage = "data: {\"choices\":[],\"usage\":{\"total_tokens\":9}}\n\n".to_owned();
    let script =
        [delta("He"), ": keep-alive\n\n".to_owned(), delta("llo"), finish(), usage, "data: [DONE]\n\n".to_owned()];
    let upstream = Upstream::scripted(move |_| event_reply(script.iter().cloned().map(Ok).collect())).await;
    let server = server(&upstream).await;
    let reply = server.post("/v1/chat/completions", &streaming("When is the annual tax return due?")).await;
    let (chunks, is_done) = events(&reply.text.replace(": keep-alive\n\n", ""));
    assert!(is_done && reply.text.contains(": keep-alive\n\n"));
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "Hello");
    assert_eq!(chunks[2]["source_nodes"][0]["doc_id"], "tax");
    assert_eq!(chunks.iter().filter(|chunk| chunk.get("source_nodes").is_some()).count(), 1);
    assert_eq!(chunks[3]["usage"]["total_tokens"], 9);
    assert_eq!(upstream.last().json()["stream"], true);
}

#[tokio::test]
async fn a_stream_without_a_finish_reason_still_delivers_its_sources() {
    let upstream =
        Upstream::scripted(|_| event_reply([delta("Hi"), "data: [DONE]\n\n".to_owned()].map(Ok).into())).await;
    let server = server(&upstream).await;
    let mut body = streaming("When is the annual tax return due?");
    body["explain"] = json!(true);
    let (chunks, is_done) = events(&server.post("/v1/chat/completions", &body).await.text);
    assert!(is_done && chunks.len() == 2, "{chunks:?}");
    assert_eq!((&chunks[1]["id"], &chunks[1]["choices"]), (&json!("c1"), &json!([])));
    assert_eq!(chunks[1]["source_nodes"][0]["doc_id"], "tax");
    assert_eq!(chunks[1]["explanation"]["path"], "rag");
}

#[tokio::test]
async fn a_passed_through_stream_is_unchanged() {
    let script = [delta("a"), finish(), "data: [DONE]\n\n".to_owned()];
    let expected = script.concat();
    let upstream = Upstream::scripted(move |_| event_reply(script.iter().cloned().map(Ok).collect())).await;
    let server = server(&upstream).await;
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
    assert_eq!(server.post("/v1/chat/completions", &body).await.text, expected);
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_an_error_and_no_done() {
    let url = breaking_upstream().await;
    let settings =
        format!("{{inferenceService: {{url: '{url}', contextWindowSize: 8192}}, retrieval: {{maxDistance: 1.1}}}}");
    let server = Server::start(&settings).await;
    server.add("docs", &FACTS).await;
    for body in [
        streaming("When is the annual tax return due?"),
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}),
    ] {
        let (chunks, is_done) = events(&server.post("/v1/chat/completions", &body).await.text);
        assert_eq!(chunks[0]["choices"][0]["delta"]["content"], "Hel");
        assert!(!is_done && chunks[1]["error"]["message"].is_string(), "{chunks:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_its_answer_is_an_error() {
    // The connection itself is closed cleanly.
    let upstream = Upstream::scripted(|_| event_reply([delta("Hel")].map(Ok).into())).await;
    let server = server(&upstream).await;
    for body in [
        streaming("When is the annual tax return due?"),
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]}),
    ] {
        let (chunks, is_done) = events(&server.post("/v1/chat/completions", &body).await.text);
        assert_eq!(chunks[0]["choices"][0]["delta"]["content"], "Hel");
        assert!(
            !is_done && chunks[1]["error"]["message"].as_str().unwrap().contains("before the answer"),
            "{chunks:?}"
        );
    }
}

#[tokio::test]
async fn an_error_in_a_stream_is_passed_on_and_counts_as_a_failure() {
    let failure = "data: {\"error\":{\"message\":\"out of memory\"}}\n\n";
    let upstream = Upstream::scripted(move |_| event_reply([delta("Hel"), failure.to_owned()].map(Ok).into())).await;
    let server = server(&upstream).await;
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
    let text = server.post("/v1/chat/completions", &body).await.text;
    assert_eq!(text, delta("Hel") + failure);
    let metrics = server.get("/metrics").await.text;
    let line = r#"ragengine_chat_requests_total{index="",outcome="failed",path="passthrough",reason="no_index"} 1"#;
    assert!(metrics.contains(line), "{metrics}");
}

/// The URL of a language model that answers each request with the beginning of a stream and then closes the connection.
async fn breaking_upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 16 << 10];
            let received = connection.read(&mut request).await.unwrap();
            assert!(received > 0, "the server closed its connection");
            let event = delta("Hel") + "data: {\"id\": \"c1\", \"cho";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            connection.write_all(format!("{head}{:x}\r\n{event}\r\n", event.len()).as_bytes()).await.unwrap();
            connection.shutdown().await.unwrap();
        }
    });
    url
}

#[tokio::test]
async fn words_arrive_before_the_answer_is_finished() {
    let upstream = Upstream::scripted(|_| {
        let words = futures_util::stream::iter([Ok::<_, std::io::Error>(delta("first"))])
            .chain(futures_util::stream::pending());
        ([("content-type", "text/event-stream")], Body::from_stream(words)).into_response()
    })
    .await;
    let server = server(&upstream).await;
    let request =
        server.request("/v1/chat/completions").body(streaming("When is the annual tax return due?").to_string());
    let mut pieces = request.send().await.unwrap().bytes_stream();
    let first = tokio::time::timeout(Duration::from_secs(30), pieces.next())
        .await
        .expect("a word arrives before the answer is finished");
    assert!(first.unwrap().unwrap().starts_with(b"data:"));
}

#[tokio::test]
async fn a_client_that_leaves_cancels_the_upstream_request() {
    let (left, mut has_left) = tokio::sync::mpsc::unbounded_channel::<()>();
    let upstream = Upstream::scripted(move |_| {
        let guard = Guard(left.clone());
        let words = futures_util::stream::unfold(guard, |guard| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from(delta("word"))), guard))
        });
        ([("content-type", "text/event-stream")], Body::from_stream(words)).into_response()
    })
    .await;
    let server = server(&upstream).await;
    let request =
        server.request("/v1/chat/completions").body(streaming("When is the annual tax return due?").to_string());
    let mut pieces = request.send().await.unwrap().bytes_stream();
    pieces.next().await.unwrap().unwrap();
    drop(pieces);
    tokio::time::timeout(Duration::from_secs(30), has_left.recv()).await.expect("the upstream request was cancelled");
}

/// Sends a message when the upstream's stream is dropped.
struct Guard(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        // The receiver is gone if the test has already failed.
        self.0.send(()).ok();
    }
}

/// Settings with a keep-alive comment after each second of silence.
fn short_keep_alive(url: &str) -> String {
    format!(
        "{{inferenceService: {{url: '{url}', timeoutSeconds: 20, contextWindowSize: 8192}}, \
         chat: {{keepAliveSeconds: 1}}, retrieval: {{maxDistance: 1.1}}}}"
    )
}

fn through(stream: bool) -> serde_json::Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]})
}

const COMMENT: &str = ": keep-alive\n\n";

/// Reads a stream to its end, and notifies `go_on` at the first comment. Repeated comments count as one.
async fn read_through_a_pause(server: &Server, go_on: &Notify) -> String {
    let request = server.request("/v1/chat/completions").body(through(true).to_string());
    let mut pieces = request.send().await.unwrap().bytes_stream();
    let mut text = String::new();
    while let Some(piece) = pieces.next().await {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        if text.contains(COMMENT) {
            go_on.notify_one();
        }
    }
    // A slow machine may get more than one comment.
    text.replace(&COMMENT.repeat(2), COMMENT)
}

#[tokio::test]
async fn a_pause_between_words_is_filled_with_comments() {
    let go_on = Arc::new(Notify::new());
    let waiting = Arc::clone(&go_on);
    let upstream = Upstream::scripted(move |_| {
        let waiting = Arc::clone(&waiting);
        let words = futures_util::stream::iter([delta("a")]).chain(futures_util::stream::once(async move {
            waiting.notified().await;
            finish() + "data: [DONE]\n\n"
        }));
        ([("content-type", "text/event-stream")], Body::from_stream(words.map(Ok::<_, std::io::Error>))).into_response()
    })
    .await;
    let server = Server::start(&short_keep_alive(&upstream.url)).await;
    let text = read_through_a_pause(&server, &go_on).await;
    assert_eq!(text, format!("{}{COMMENT}{}data: [DONE]\n\n", delta("a"), finish()));
}

#[tokio::test]
async fn a_stream_begins_before_a_slow_model_answers() {
    let go_on = Arc::new(Notify::new());
    let words = || event_reply([delta("a"), finish(), "data: [DONE]\n\n".to_owned()].map(Ok).into());
    let server = Server::start(&short_keep_alive(&slow_to_begin(&go_on, words).await)).await;
    let text = read_through_a_pause(&server, &go_on).await;
    assert_eq!(text, format!("{COMMENT}{}{}data: [DONE]\n\n", delta("a"), finish()));
}

#[tokio::test]
async fn a_whole_answer_after_a_stream_has_begun_becomes_its_events() {
    let go_on = Arc::new(Notify::new());
    let whole = || {
        let mut reply = crate::support::upstream::completion("Hello");
        reply["choices"][0]["finish_reason"] = json!("stop");
        crate::support::upstream::json_reply(200, &reply)
    };
    let server = Server::start(&short_keep_alive(&slow_to_begin(&go_on, whole).await)).await;
    let text = read_through_a_pause(&server, &go_on).await;
    let (chunks, is_done) = events(text.trim_start_matches(COMMENT));
    assert_eq!((is_done, chunks.len()), (true, 2), "{text}");
    assert_eq!(chunks[0]["choices"][0]["delta"]["content"], "Hello");
    assert_eq!(chunks[1]["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn an_error_after_a_stream_has_begun_is_its_last_event() {
    let go_on = Arc::new(Notify::new());
    let refusal =
        || crate::support::upstream::json_reply(429, &json!({"error": {"message": "slow down", "code": "rate"}}));
    let server = Server::start(&short_keep_alive(&slow_to_begin(&go_on, refusal).await)).await;
    let text = read_through_a_pause(&server, &go_on).await;
    let (chunks, is_done) = events(text.trim_start_matches(COMMENT));
    assert_eq!((is_done, &chunks), (false, &vec![json!({"error": {"message": "slow down", "code": "rate"}})]));
    // A reply that is not a stream keeps the status of the error.
    go_on.notify_one();
    server.post("/v1/chat/completions", &through(false)).await.error(429);
}

/// The URL of a language model that begins its reply once `go_on` is notified.
async fn slow_to_begin(
    go_on: &Arc<Notify>,
    reply: impl Fn() -> axum::response::Response + Clone + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let go_on = Arc::clone(go_on);
    let answer = move || async move {
        go_on.notified().await;
        reply()
    };
    let router = axum::Router::new().route("/v1/chat/completions", axum::routing::post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

#[tokio::test]
async fn a_stream_that_falls_silent_ends_with_an_error() {
    let upstream = Upstream::scripted(|_| {
        let words = futures_util::stream::iter([Ok::<_, std::io::Error>(delta("first"))])
            .chain(futures_util::stream::pending());
        ([("content-type", "text/event-stream")], Body::from_stream(words)).into_response()
    })
    .await;
    let server =
        Server::start(&short_keep_alive(&upstream.url).replace("timeoutSeconds: 20", "timeoutSeconds: 2")).await;
    let text = server.post("/v1/chat/completions", &through(true)).await.text;
    let (chunks, is_done) = events(&text.replace(": keep-alive\n\n", ""));
    assert!(!is_done && chunks[1]["error"]["message"].as_str().unwrap().contains("timeoutSeconds"), "{text}");
}

#[tokio::test]
async fn a_client_that_reads_slowly_slows_the_language_model_down() {
    const PIECE: usize = 64 << 10;
    let made = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&made);
    let upstream = Upstream::scripted(move |_| {
        let counter = Arc::clone(&counter);
        let event = Bytes::from(format!("data: {{\"choices\":[],\"padding\":\"{}\"}}\n\n", "x".repeat(PIECE)));
        let endless = futures_util::stream::repeat_with(move || {
            counter.fetch_add(PIECE, Relaxed);
            Ok::<_, std::io::Error>(event.clone())
        });
        ([("content-type", "text/event-stream")], Body::from_stream(endless)).into_response()
    })
    .await;
    let server = server(&upstream).await;
    let request = server.request("/v1/chat/completions").body(through(true).to_string());
    let mut pieces = request.send().await.unwrap().bytes_stream();
    pieces.next().await.unwrap().unwrap();
    // The client stops reading. Events fill the buffers of the connections, and then the language model stops.
    let mut before = usize::MAX;
    let mut polls = 0;
    while before != made.load(Relaxed) {
        before = made.load(Relaxed);
        tokio::time::sleep(Duration::from_millis(300)).await;
        polls += 1;
        assert!(polls < 100, "the language model still sends after {before} bytes");
    }
    assert!(before < 64 << 20, "{before} bytes are buffered");
    // The language model continues when the client reads on.
    for _ in 0..2000 {
        pieces.next().await.unwrap().unwrap();
    }
    assert!(made.load(Relaxed) > before);
}

#[tokio::test]
async fn requests_over_the_concurrency_limit_are_refused() {
    let upstream = Upstream::scripted(|_| {
        let words = futures_util::stream::iter([Ok::<_, std::io::Error>(delta("first"))])
            .chain(futures_util::stream::pending());
        ([("content-type", "text/event-stream")], Body::from_stream(words)).into_response()
    })
    .await;
    let settings =
        format!("{{inferenceService: {{url: '{}', maxConcurrentRequests: 1, maxWaitingRequests: 0}}}}", upstream.url);
    let server = Server::start(&settings).await;
    let mut first =
        server.request("/v1/chat/completions").body(through(true).to_string()).send().await.unwrap().bytes_stream();
    first.next().await.unwrap().unwrap();
    let refused = server.post("/v1/chat/completions", &through(true)).await;
    assert!(refused.error(429).contains("maxConcurrentRequests"));
    assert_eq!(refused.headers["retry-after"], "1");
    // A client that leaves frees its place.
    drop(first);
    for _ in 0..200 {
        let mut again = server.request("/v1/chat/completions").body(through(true).to_string()).send().await.unwrap();
        if again.status() == 200 {
            again.chunk().await.unwrap().unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the place was never free again");
}

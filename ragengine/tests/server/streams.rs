use std::time::Duration;

use axum::body::Body;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

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
async fn a_passed_through_stream_is_byte_for_byte() {
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

/// Answers every request with the beginning of a stream and then closes the connection.
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
        .expect("a word comes while the model thinks");
    assert!(first.unwrap().unwrap().starts_with(b"data:"));
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_upstreams_work() {
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

/// Tells when the upstream's stream is dropped.
struct Guard(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        // The receiver is gone when the test has ended otherwise.
        self.0.send(()).ok();
    }
}

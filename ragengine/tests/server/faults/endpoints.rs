use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::upstream::Upstream;
use crate::support::{Server, events, settings};

/// A host name that never resolves.
const UNKNOWN: &str = "http://no-such-host.invalid/v1";

fn chat(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Hi"}]})
}

/// A reply of 100 MiB.
fn oversized(content_type: &'static str) -> Response {
    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    let pieces = stream::iter((0..100).map(move |_| Ok::<_, std::io::Error>(piece.clone())));
    ([("content-type", content_type)], Body::from_stream(pieces)).into_response()
}

/// The URL of a server that closes every connection at once.
async fn resetting() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    url
}

#[tokio::test]
async fn a_language_model_that_sends_too_much_is_cut_off() {
    let upstream = Upstream::scripted(|body| {
        if body["stream"] == true { oversized("text/event-stream") } else { oversized("application/json") }
    })
    .await;
    let yaml = format!("{{inferenceService: {{url: '{}', maxReplyBytes: 1000000}}}}", upstream.url);
    let server = Server::start(&yaml).await;
    let message = server.post("/v1/chat/completions", &chat(false)).await.error(502);
    assert!(message.contains("inferenceService.maxReplyBytes"), "{message}");
    // The stream holds no complete event, so the client gets only the error.
    let (chunks, is_done) = events(&server.post("/v1/chat/completions", &chat(true)).await.text);
    assert!(!is_done && chunks.len() == 1 && chunks[0]["error"]["message"].is_string(), "{chunks:?}");
}

#[tokio::test]
async fn an_unreachable_language_model_is_named() {
    for (url, cause) in [(UNKNOWN.to_owned(), "no-such-host.invalid"), (resetting().await, "127.0.0.1")] {
        let server = Server::start(&format!("{{inferenceService: {{url: '{url}'}}}}")).await;
        for stream in [false, true] {
            let message = server.post("/v1/chat/completions", &chat(stream)).await.error(502);
            assert!(message.contains(cause), "{message}");
        }
        assert_eq!(server.get("/readyz").await.status, 200, "retrieval works without a language model");
    }
}

#[tokio::test]
async fn nothing_is_stored_when_an_embedder_sends_too_much() {
    let embedder = RemoteEmbedder::scripted(|inputs| {
        if inputs[0].contains("much") { oversized("application/json") } else { reply(&inputs, |text| words(text, 8)) }
    })
    .await;
    let server = Server::start(&embedder.settings("m", "")).await;
    server.add("docs", &[("a", "little")]).await;
    let refused = server.post("/index", &json!({"index_name": "docs", "documents": [{"text": "much"}]})).await;
    assert!(refused.error(502).contains("bytes"), "{}", refused.text);
    server.post("/retrieve", &json!({"index_name": "docs", "query": "much"})).await.error(502);
    assert_eq!(server.get("/indexes/docs").await.ok()["documents"], 1);
}

#[tokio::test]
async fn a_server_with_an_unreachable_embedder_is_not_ready_and_names_it() {
    for (url, cause) in [(UNKNOWN.to_owned(), "no-such-host.invalid"), (resetting().await, "127.0.0.1")] {
        let data = tempfile::tempdir().unwrap();
        let yaml = format!("embedding: {{remote: {{url: '{url}', model: m}}}}");
        let server = Server::start_unloaded(settings(&data, &yaml)).await;
        let app = server.app.clone();
        let starting = tokio::spawn(async move { ragengine::app::start(&app).await });
        for _ in 0..1000 {
            let ready = server.get("/readyz").await;
            if ready.text.contains(cause) {
                assert_eq!(ready.status, 503);
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let words = server.post("/retrieve", &json!({"index_name": "docs", "query": "x"})).await.error(503);
        assert!(words.contains(cause), "{words}");
        assert_eq!(server.get("/livez").await.status, 200);
        starting.abort();
    }
}

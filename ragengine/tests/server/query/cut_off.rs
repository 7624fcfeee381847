//! Answers that break off, because the client leaves or the language model fails.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::{SESSION, last_prompt, query_reply, replying, settings, typed_events};
use crate::support::upstream::{Upstream, delta, event_reply, finish, json_reply};
use crate::support::{FACTS, Server};

/// A stream that sends these pieces, and then nothing for ever.
fn endless(pieces: Vec<String>) -> Response {
    let begun = futures_util::stream::iter(pieces.into_iter().map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece))));
    let stream = begun.chain(futures_util::stream::pending());
    ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
}

async fn server(script: fn() -> Response) -> (Server, Upstream) {
    let upstream =
        Upstream::scripted(move |body| if body["stream"] == true { script() } else { replying(&body, "Yes.") }).await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    (server, upstream)
}

fn asked(stream: bool) -> Value {
    json!({"query": "Why do cats purr?", "session_id": SESSION, "stream": stream})
}

async fn last_answer(server: &Server) -> Value {
    let history = server.get(&format!("/chat/history/{SESSION}")).await.ok();
    history["messages"].as_array().unwrap().last().cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_client_stops_is_kept_as_it_was_sent() {
    let (server, upstream) = server(|| endless(vec![delta("When"), delta(" they are")])).await;
    let request = server.request("/query").body(asked(true).to_string());
    let mut stream = request.send().await.unwrap().bytes_stream();
    let mut text = String::new();
    while !text.contains("they are") {
        text.push_str(str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    drop(stream);
    let answer = loop {
        let answer = last_answer(&server).await;
        if answer.is_object() {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!((&answer["content"], &answer["complete"]), (&json!("When they are"), &json!(false)));
    assert_eq!(answer["sources"][0]["doc_id"], "cats");
    // The next question gets what was sent.
    query_reply(&server, asked(false)).await.ok();
    assert_eq!(last_prompt(&upstream)[2]["content"], "When they are");
}

#[tokio::test]
async fn an_answer_that_breaks_is_an_error_and_kept_as_it_was_sent() {
    let broken = || {
        let begun = futures_util::stream::iter([Ok(Bytes::from(delta("When")))]);
        let gone = futures_util::stream::once(async {
            // Otherwise the connection breaks before the head of the reply is sent.
            tokio::time::sleep(Duration::from_millis(200)).await;
            Err(std::io::Error::other("gone"))
        });
        ([("content-type", "text/event-stream")], Body::from_stream(begun.chain(gone))).into_response()
    };
    let (server, _upstream) = server(broken).await;
    let events = typed_events(&query_reply(&server, asked(true)).await.text);
    let kinds: Vec<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["token", "error"]);
    assert!(events[1].1["detail"].as_str().unwrap().contains("language model"), "{events:?}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let answer = last_answer(&server).await;
    assert_eq!((&answer["content"], &answer["complete"]), (&json!("When"), &json!(false)));
}

#[tokio::test]
async fn an_error_in_the_stream_is_passed_on() {
    let error = || {
        let error = json!({"error": {"message": "out of memory", "code": 500}});
        event_reply(vec![Ok(delta("When")), Ok(format!("data: {error}\n\n")), Ok("data: [DONE]\n\n".to_owned())])
    };
    let (server, _upstream) = server(error).await;
    let events = typed_events(&query_reply(&server, asked(true)).await.text);
    let kinds: Vec<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["token", "error"]);
    assert!(events[1].1["detail"].as_str().unwrap().contains("out of memory"), "{events:?}");
}

#[tokio::test]
async fn an_error_in_the_stream_does_not_show_the_key() {
    let error = || {
        let error = json!({"error": {"message": "Incorrect API key provided: sk-secret"}});
        event_reply(vec![Ok(format!("data: {error}\n\n"))])
    };
    let upstream = Upstream::scripted(move |_| error()).await;
    let data = tempfile::tempdir().unwrap();
    let key = data.path().join("key");
    std::fs::write(&key, "sk-secret").unwrap();
    let yaml = format!(
        "{{inferenceService: {{url: '{}', apiKey: {{file: {}}}}}, retrieval: {{maxDistance: 1.1}}}}",
        upstream.url,
        key.display()
    );
    let server = Server::start(&yaml).await;
    server.add("docs", &FACTS).await;
    let text = query_reply(&server, asked(true)).await.text;
    assert!(text.contains("Incorrect API key provided: ***") && !text.contains("sk-secret"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_keeps_unfinished_answers() {
    let (server, _upstream) = server(|| endless(vec![delta("When")])).await;
    let request = server.request("/query").body(asked(true).to_string());
    let mut stream = request.send().await.unwrap().bytes_stream();
    stream.next().await.unwrap().unwrap();
    assert_eq!(last_answer(&server).await, Value::Null);
    server.app.open_turns.keep_all().await;
    let answer = last_answer(&server).await;
    assert_eq!((&answer["content"], &answer["complete"]), (&json!("When"), &json!(false)));
    // It is kept once.
    drop(stream);
    tokio::time::sleep(Duration::from_millis(100)).await;
    let history = server.get(&format!("/chat/history/{SESSION}")).await.ok();
    assert_eq!(history["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_client_hears_something_while_the_language_model_thinks() {
    let thinking = || {
        let thought = json!({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}, "finish_reason": null}]});
        let thoughts = futures_util::stream::unfold(0, move |thoughts| {
            let thought = format!("data: {thought}\n\n");
            async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let event = if thoughts < 12 { thought } else { delta("So.") + &finish() + "data: [DONE]\n\n" };
                (thoughts <= 12).then(|| (Ok::<_, std::io::Error>(Bytes::from(event)), thoughts + 1))
            }
        });
        ([("content-type", "text/event-stream")], Body::from_stream(thoughts)).into_response()
    };
    let upstream = Upstream::scripted(move |_| thinking()).await;
    let server = Server::start(&settings(&upstream, "chat: {keepAliveSeconds: 1}")).await;
    server.add("docs", &FACTS).await;
    let text = query_reply(&server, asked(true)).await.text;
    assert!(text.starts_with(": keep-alive\n\n") && text.contains("event: done"), "{text}");
}

#[tokio::test]
async fn a_reply_without_an_answer_leaves_no_turn() {
    let upstream = Upstream::scripted(|_| json_reply(200, &json!({"choices": []}))).await;
    let server = Server::start(&settings(&upstream, "")).await;
    server.add("docs", &FACTS).await;
    query_reply(&server, asked(false)).await.error(502);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(last_answer(&server).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn clearing_also_clears_an_answer_that_is_being_written() {
    let slow = || {
        let begun = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from(delta("When")))]);
        let later = futures_util::stream::once(async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok(Bytes::from(finish() + "data: [DONE]\n\n"))
        });
        ([("content-type", "text/event-stream")], Body::from_stream(begun.chain(later))).into_response()
    };
    let (server, _upstream) = server(slow).await;
    let request = server.request("/query").body(asked(true).to_string());
    let mut stream = request.send().await.unwrap().bytes_stream();
    stream.next().await.unwrap().unwrap();
    server.post("/chat/clear", &json!({"session_id": SESSION})).await.ok();
    let mut rest = String::new();
    while let Some(piece) = stream.next().await {
        rest.push_str(str::from_utf8(&piece.unwrap()).unwrap());
    }
    assert!(rest.contains("event: done"), "{rest}");
    assert_eq!(last_answer(&server).await, Value::Null);
}

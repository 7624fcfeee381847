use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use futures_util::stream;
use serde_json::json;

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::upstream::text_reply;
use crate::support::{FACTS, Server, copy_folder, settings};

#[tokio::test]
async fn an_index_of_3072_dimensions_works() {
    let embedder = RemoteEmbedder::with_width(3072).await;
    let server = Server::start(&embedder.settings("wide", "")).await;
    server.add("wide", &FACTS).await;
    assert_eq!(server.found("wide", "the container ship left", 2).await[0], "ships");
    assert_eq!(server.get("/indexes/wide").await.ok()["model"], "wide");
    let reply = server.post("/v1/embeddings", &json!({"input": "x"})).await.ok();
    assert_eq!(reply["data"][0]["embedding"].as_array().unwrap().len(), 3072);
}

#[tokio::test]
async fn every_kind_of_vector_index_finds_the_same() {
    for kind in ["auto", "Flat", "SQ8", "HNSW16", "HNSW16_SQ8", "IVF4,Flat"] {
        let embedder = RemoteEmbedder::with_width(64).await;
        let yaml = format!("vectorIndex: {kind}\nsearch: {{exactBelowRows: 50}}");
        let server = Server::start(&embedder.settings("m", &yaml)).await;
        let texts: Vec<(String, String)> = (0..160)
            .map(|number| (format!("d{number}"), format!("entry {number} colour{} shape{}", number % 7, number % 11)))
            .collect();
        let documents: Vec<(&str, &str)> = texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        server.add("kinds", &documents[..60]).await;
        server.add("kinds", &documents[60..]).await;
        wait_until_built(&server, 160).await;
        let built = if kind == "auto" { "HNSW32" } else { kind };
        assert_eq!(server.get("/indexes/kinds").await.ok()["vector_index"], built);
        for number in [3, 59, 60, 119] {
            assert_eq!(server.found("kinds", &texts[number].1, 1).await, [format!("d{number}")], "{kind}");
        }
        server.post("/indexes/kinds/documents/delete", &json!({"doc_ids": ["d59"]})).await.ok();
        assert!(!server.found("kinds", &texts[59].1, 300).await.contains(&"d59".to_owned()), "{kind}");
    }
}

#[tokio::test]
async fn nothing_is_embedded_twice() {
    let embedder = RemoteEmbedder::with_width(32).await;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, &embedder.settings("m", ""))).await;
    server.add("once", &FACTS).await;
    server.add("once", &[("cats", "Cats have whiskers.")]).await;
    server.post("/indexes/once/documents/delete", &json!({"doc_ids": ["tax"]})).await.ok();
    let before = embedder.embedded();
    // A document moves to another id and back.
    server.add("once", &[("moon2", FACTS[4].1)]).await;
    server.post("/indexes/once/documents/delete", &json!({"doc_ids": ["moon"]})).await.ok();
    server.add("once", &[("moon", FACTS[4].1)]).await;
    assert_eq!(embedder.embedded(), before);
    // After a restart only the probe and the questions are embedded.
    let copy = tempfile::tempdir().unwrap();
    copy_folder(data.path(), copy.path());
    let server = Server::start_in(settings(&copy, &embedder.settings("m", ""))).await;
    assert_eq!(server.found("once", "cats have whiskers", 1).await, ["cats"]);
    let mut all = server.found("once", "the annual tax return is due", 300).await;
    all.sort();
    assert_eq!(all, ["bread", "cats", "moon", "moon2", "ships"]);
    assert_eq!(embedder.embedded(), before + 3);
}

#[tokio::test]
async fn nothing_is_stored_when_the_embedder_fails() {
    let faults: [fn(&[String]) -> Response; 4] = [
        |inputs| reply(inputs, |_| vec![f32::NAN; 8]),
        |inputs| reply(&inputs[..inputs.len() - 1], |text| words(text, 8)),
        |_| text_reply(401, r#"{"error": {"message": "no such key"}}"#),
        |_| text_reply(200, "hello"),
    ];
    for fault in faults {
        let embedder = RemoteEmbedder::scripted(move |inputs| {
            let is_bad = inputs.iter().any(|text| text.contains("bad"));
            if is_bad { fault(&inputs) } else { reply(&inputs, |text| words(text, 8)) }
        })
        .await;
        let server = Server::start(&embedder.settings("m", "")).await;
        server.add("kept", &FACTS[..1]).await;
        let documents = json!([{"doc_id": "new", "text": "good"}, {"doc_id": "cats", "text": "bad"}]);
        let bad = json!({"index_name": "kept", "documents": documents});
        server.post("/index", &bad).await.error(502);
        let listed = server.get("/indexes/kept/documents").await.ok();
        assert_eq!(
            (listed["total_items"].as_u64(), listed["documents"][0]["text"].as_str()),
            (Some(1), Some(FACTS[0].1))
        );
        server.post("/retrieve", &json!({"index_name": "kept", "query": "bad"})).await.error(502);
        server.post("/index", &json!({"index_name": "fresh", "documents": [{"text": "bad"}]})).await.error(502);
        server.get("/indexes/fresh").await.error(404);
    }
}

/// Otherwise the index would stay empty for ever and count towards the limit of indexes.
#[tokio::test]
async fn an_index_created_for_a_cancelled_request_is_removed() {
    let script = |inputs: Vec<String>| {
        if inputs.iter().any(|text| text.contains("stuck")) {
            Response::new(Body::from_stream(stream::pending::<Result<String, Infallible>>()))
        } else {
            reply(&inputs, |text| words(text, 32))
        }
    };
    let embedder = RemoteEmbedder::scripted(script).await;
    let server = Server::start(&embedder.settings("m", "")).await;
    let body = json!({"index_name": "new", "documents": [{"text": "stuck"}]});
    let sending = tokio::spawn(reqwest::Client::new().post(format!("{}/index", server.url)).json(&body).send());
    wait_for_status(&server, 200).await;
    sending.abort();
    wait_for_status(&server, 404).await;
}

/// A failed add removes the index that it created, unless another client has received a success for it.
#[tokio::test]
async fn an_index_put_by_another_client_survives_a_failed_add() {
    let (is_asked, asked) = tokio::sync::mpsc::unbounded_channel();
    let (goes_on, waits) = tokio::sync::watch::channel(false);
    let script = move |inputs: Vec<String>| {
        if !inputs.iter().any(|text| text.contains("stuck")) {
            return reply(&inputs, |text| words(text, 32));
        }
        is_asked.send(()).unwrap();
        let mut waits = waits.clone();
        let broken = async move {
            drop(waits.wait_for(|goes_on| *goes_on).await);
            Ok::<_, Infallible>("no vectors")
        };
        Response::new(Body::from_stream(stream::once(broken)))
    };
    let mut asked = asked;
    let embedder = RemoteEmbedder::scripted(script).await;
    let server = std::sync::Arc::new(Server::start(&embedder.settings("m", "")).await);
    let sender = std::sync::Arc::clone(&server);
    let body = json!({"index_name": "new", "documents": [{"text": "stuck"}]});
    let sending = tokio::spawn(async move { sender.post("/index", &body).await });
    asked.recv().await.unwrap();
    let put = server.put("/indexes/new", &json!({})).await.ok();
    goes_on.send(true).unwrap();
    sending.await.unwrap().error(502);
    assert_eq!(server.get("/indexes/new").await.ok(), put);
}

async fn wait_for_status(server: &Server, status: u16) {
    for _ in 0..1000 {
        if server.get("/indexes/new").await.status == status {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the status was never {status}");
}

/// Waits up to 10 s until the vector index, which is built in the background, covers so many chunks.
async fn wait_until_built(server: &Server, chunks: u64) {
    for _ in 0..1000 {
        if server.get("/indexes/kinds").await.ok()["graph_chunks"] == chunks {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the vector index was not built in time: {}", server.get("/indexes/kinds").await.text);
}

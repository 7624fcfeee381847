//! Chunks that are embedded with the names of their documents.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::{Server, copy_folder, settings};

/// An embedder that keeps what it was sent.
async fn embedder() -> (RemoteEmbedder, Arc<Mutex<Vec<String>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&sent);
    let script = move |inputs: Vec<String>| {
        kept.lock().unwrap().extend(inputs.clone());
        reply(&inputs, |text| words(text, 64))
    };
    (RemoteEmbedder::scripted(script).await, sent)
}

fn with_names(embedder: &RemoteEmbedder, has_names: bool) -> String {
    embedder.settings("m", "").replace("model: m", &format!("model: m, documentNames: {has_names}"))
}

fn documents() -> Value {
    json!({"index_name": "i", "documents": [
        {"doc_id": "pump", "text": "Turn the valve twice.", "metadata": {"title": "Pump", "path": "manuals/p-7.md"}},
        {"doc_id": "lamp", "text": "Turn the valve twice.", "metadata": {"title": "Lamp", "path": "manuals/l-9.md"}},
        {"doc_id": "none", "text": "Turn the valve twice."},
    ]})
}

async fn dense(server: &Server, query: &str) -> Vec<Value> {
    let body = json!({"index_name": "i", "query": query, "max_node_count": 3, "pipeline": {"retrieval": "dense"}});
    server.post("/retrieve", &body).await.ok()["results"].as_array().unwrap().clone()
}

#[tokio::test]
async fn equal_texts_are_told_apart_by_the_names_of_their_documents() {
    let (embedder, sent) = embedder().await;
    let server = Server::start(&with_names(&embedder, true)).await;
    server.post("/index", &documents()).await.ok();
    let mut embedded = sent.lock().unwrap().clone();
    embedded.retain(|text| text.contains("valve"));
    embedded.sort();
    let text = "Turn the valve twice.";
    assert_eq!(embedded, [text.to_owned(), format!("manuals l 9: Lamp\n{text}"), format!("manuals p 7: Pump\n{text}")]);

    for (query, best) in [("Pump valve", "pump"), ("Lamp valve", "lamp")] {
        let found = dense(&server, query).await;
        assert_eq!((&found[0]["doc_id"], &found[0]["text"]), (&json!(best), &json!(text)), "the name is not shown");
    }
    // A changed name is embedded, and an unchanged document is not.
    let before = embedder.embedded();
    server.post("/index", &documents()).await.ok();
    assert_eq!(embedder.embedded(), before);
    let renamed = json!({"doc_id": "pump", "text": text, "metadata": {"title": "Motor", "path": "manuals/p-7.md"}});
    server.post("/index", &json!({"index_name": "i", "documents": [renamed]})).await.ok();
    assert_eq!(dense(&server, "Motor valve").await[0]["doc_id"], "pump");
}

#[tokio::test]
async fn the_setting_embeds_an_index_again() {
    let (embedder, _) = embedder().await;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, &with_names(&embedder, false))).await;
    server.post("/index", &documents()).await.ok();
    let similarities: Vec<_> = dense(&server, "Pump valve").await.iter().map(|one| one["score"].clone()).collect();
    assert_eq!(similarities[0], similarities[2], "without names, equal texts are equally near");
    let before = server.get("/indexes/i").await.ok();

    let copy = TempDir::new().unwrap();
    copy_folder(data.path(), copy.path());
    let server = Server::start_in(settings(&copy, &with_names(&embedder, true))).await;
    for _ in 0..3000 {
        let index = server.get("/indexes/i").await.ok();
        if index["fingerprint"] != before["fingerprint"] && index["next_generation"].is_null() {
            assert_eq!(index["documents"], 3, "{index}");
            assert_eq!(dense(&server, "Pump valve").await[0]["doc_id"], "pump");
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the index is not embedded again: {}", server.get("/indexes/i").await.text);
}

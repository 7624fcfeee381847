use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::Response;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::embedder::{RemoteEmbedder, reply, words};
use crate::support::upstream::text_reply;
use crate::support::{Server, ask, copy_folder, settings};

/// A remote embedder that refuses texts with a certain word while `refuses` is set.
struct Embedder {
    remote: RemoteEmbedder,
    refuses: Arc<AtomicBool>,
}

impl Embedder {
    async fn new(width: usize, refused: &'static str) -> Self {
        let refuses = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&refuses);
        let script = move |inputs: Vec<String>| -> Response {
            let is_refused = inputs.iter().any(|text| text.contains(refused));
            if is_refused && flag.load(Ordering::Acquire) {
                text_reply(400, r#"{"error": {"message": "not now"}}"#)
            } else {
                reply(&inputs, |text| words(text, width))
            }
        };
        Self { remote: RemoteEmbedder::scripted(script).await, refuses }
    }

    fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::Release);
    }
}

/// A text of several sentences, so that there is something to split. It is unique to its number.
fn text(number: usize) -> String {
    let sentence =
        |part: usize| format!("entry{number} colour{} shape{} part{part} of the story.", number % 7, number % 11);
    (0..6).map(sentence).collect::<Vec<_>>().join(" ")
}

fn id(number: usize) -> String {
    format!("d{number}")
}

async fn add(server: &Server, numbers: impl IntoIterator<Item = usize>) {
    let documents: Vec<Value> =
        numbers.into_iter().map(|number| json!({"doc_id": id(number), "text": text(number)})).collect();
    server.post("/index", &json!({"index_name": "i", "documents": documents})).await.ok();
}

/// The ids of all documents, in the order in which they are listed.
async fn listed(server: &Server) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let path = format!("/indexes/i/documents?limit=100&offset={}", ids.len());
        let page = server.get(&path).await.ok();
        let page = page["documents"].as_array().unwrap();
        ids.extend(page.iter().map(|document| document["doc_id"].as_str().unwrap().to_owned()));
        if page.len() < 100 {
            return ids;
        }
    }
}

/// Waits up to 30 s until the description of the index satisfies `seen`, and returns it.
async fn wait_until(server: &Server, seen: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..3000 {
        let description = server.get("/indexes/i").await.ok();
        if seen(&description) {
            return description;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("timeout; the index is {}", server.get("/indexes/i").await.text);
}

async fn wait_until_built(server: &Server) -> Value {
    wait_until(server, |description| description["next_generation"].is_null()).await
}

/// Checks that the built-in model quotes the document whose words are the question.
async fn answers_from(server: &Server, number: usize) {
    let reply = server.post("/v1/chat/completions", &ask("i", &text(number))).await.ok();
    assert_eq!(reply["source_nodes"][0]["doc_id"], id(number), "{reply}");
    let answer = reply["choices"][0]["message"]["content"].as_str().unwrap();
    assert!(answer.starts_with(&format!("entry{number} ")) && answer.contains("[1]"), "{answer}");
}

/// A copy of the data folder of a server whose index `i` was embedded by the model `first`.
async fn data_of(embedder: &RemoteEmbedder, documents: usize) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, &embedder.settings("first", ""))).await;
    add(&server, 0..documents).await;
    copy_of(&data)
}

fn copy_of(data: &TempDir) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(data.path(), copy.path());
    copy
}

#[tokio::test]
async fn changed_settings_build_a_next_generation_that_takes_over() {
    let embedder = RemoteEmbedder::with_width(64).await;
    let server = Server::start(&embedder.settings("m", "")).await;
    add(&server, 0..40).await;
    let before = server.get("/indexes/i").await.ok();
    assert_eq!((before["chunks"].as_u64(), &before["next_generation"]), (Some(40), &Value::Null));

    let cut = json!({"chunking": {"maxTokens": 24, "overlapTokens": 0}});
    let begun = server.put("/indexes/i", &cut).await.ok();
    let next = &begun["next_generation"];
    assert_eq!((&next["phase"], &next["settings"]["chunking"]["maxTokens"]), (&json!("building"), &json!(24)));
    assert_eq!(next["settings"]["vectorIndex"], before["settings"]["vectorIndex"], "settings that are left out stay");
    let after = wait_until_built(&server).await;
    assert!(after["chunks"].as_u64() > Some(100), "{after}");
    assert_eq!((&after["documents"], &after["settings"]["chunking"]["maxTokens"]), (&json!(40), &json!(24)));
    assert_ne!(after["fingerprint"], before["fingerprint"]);
    assert_eq!(server.found("i", &text(17), 1).await, ["d17"]);
    assert_eq!(listed(&server).await, (0..40).map(id).collect::<Vec<_>>());

    // Settings that equal the current ones, or none at all, change nothing.
    for same in [&cut, &json!({}), &json!({"chunking": {"maxTokens": 24}})] {
        assert_eq!(server.put("/indexes/i", same).await.ok()["next_generation"], Value::Null, "{same}");
    }
    // Another vector index keeps the chunks, so nothing is embedded.
    let embedded = embedder.embedded();
    server.put("/indexes/i", &json!({"vectorIndex": "SQ8"})).await.ok();
    let quantised = wait_until_built(&server).await;
    assert_eq!((&quantised["settings"]["vectorIndex"], &quantised["chunks"]), (&json!("SQ8"), &after["chunks"]));
    assert_eq!(embedder.embedded(), embedded);
    assert_eq!(server.found("i", &text(17), 1).await, ["d17"]);

    let metrics = server.get("/metrics").await.text;
    assert!(metrics.contains("ragengine_generations_total{outcome=\"finished\"} 2"), "{metrics}");
    assert!(!metrics.contains("ragengine_generation_documents{"), "{metrics}");
}

#[tokio::test]
async fn the_old_model_answers_until_the_next_generation_takes_over() {
    let old = RemoteEmbedder::with_width(32).await;
    let data = data_of(&old, 80).await;
    // Both models have the same width, so only their fingerprints differ.
    let new = Embedder::new(32, "entry70").await;
    new.refuse(true);
    let server = Server::start_in(settings(&data, &new.remote.settings("second", ""))).await;
    assert_eq!(server.get("/readyz").await.ok()["ready"], true);
    let building = wait_until(&server, |index| !index["next_generation"]["error"].is_null()).await;
    let next = &building["next_generation"];
    assert_eq!((&building["model"], &next["model"], &next["total"]), (&json!("first"), &json!("second"), &json!(80)));
    assert_eq!(next["documents"], 64, "the batch before the failing document is stored");
    let status = server.get("/status").await.ok();
    let growing = &status["generations"][0];
    assert_eq!((&growing["index"], &growing["documents"], &growing["total"]), (&json!("i"), &json!(64), &json!(80)));
    let metrics = server.get("/metrics").await.text;
    for line in
        ["ragengine_generation_documents{index=\"i\"} 64", "ragengine_generation_total_documents{index=\"i\"} 80"]
    {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }

    // Searches and writes use the old model.
    let (by_old, by_new) = (old.embedded(), new.remote.embedded());
    assert_eq!(server.found("i", &text(70), 1).await, ["d70"]);
    answers_from(&server, 70).await;
    add(&server, [100]).await;
    server
        .post("/index", &json!({"index_name": "i", "documents": [{"doc_id": "d3", "text": "entirely other words"}]}))
        .await
        .ok();
    server.post("/indexes/i/documents/delete", &json!({"doc_ids": ["d5", "d6"]})).await.ok();
    add(&server, [6]).await;
    assert!(old.embedded() >= by_old + 4);
    let sync = json!({"sync_id": "s1", "phase": "complete", "revision": "r7", "done": 1, "total": 1});
    let source = json!({"doc_id": "s", "text": "of a source", "source": "site", "revision": "one"});
    server.post("/index", &json!({"index_name": "i", "documents": [source]})).await.ok();
    server.put("/indexes/i/sources/site", &sync).await.ok();
    let sources = server.get("/indexes/i/sources").await.ok();
    let expected = listed(&server).await;
    assert!(new.remote.embedded() >= by_new, "the new model is retried in the background");

    new.refuse(false);
    let after = wait_until_built(&server).await;
    assert_eq!((&after["model"], &after["documents"]), (&json!("second"), &json!(81)));
    assert_eq!(listed(&server).await, expected);
    assert_eq!(server.get("/indexes/i/sources").await.ok(), sources);
    let revisions = server.get("/indexes/i/sources/site/documents").await.ok();
    assert_eq!(revisions["documents"][0]["revision"], "one");
    let by_old = old.embedded();
    for (question, doc_id) in [(text(70), "d70"), (text(100), "d100"), ("entirely other words".to_owned(), "d3")] {
        assert_eq!(server.found("i", &question, 1).await, [doc_id]);
    }
    assert_eq!(old.embedded(), by_old, "the old model is no longer used");

    // A restart has nothing to build.
    let by_new = new.remote.embedded();
    let copy = copy_of(&data);
    let server = Server::start_in(settings(&copy, &new.remote.settings("second", ""))).await;
    assert_eq!(server.get("/indexes/i").await.ok()["next_generation"], Value::Null);
    assert_eq!(new.remote.embedded(), by_new + 1, "only the probe is embedded");
}

#[tokio::test]
async fn a_restart_continues_a_half_built_generation() {
    let old = RemoteEmbedder::with_width(32).await;
    let data = data_of(&old, 100).await;
    let new = Embedder::new(16, "entry70").await;
    new.refuse(true);
    let server = Server::start_in(settings(&data, &new.remote.settings("second", ""))).await;
    wait_until(&server, |index| !index["next_generation"]["error"].is_null()).await;
    let copy = copy_of(&data);
    // A separate embedder, because the first server still sends texts to its own.
    let again = RemoteEmbedder::with_width(16).await;
    let server = Server::start_in(settings(&copy, &again.settings("second", ""))).await;
    assert_eq!(wait_until_built(&server).await["documents"], 100);
    assert_eq!(again.embedded(), 1 + 36, "only the probe and the missing documents are embedded");
    assert_eq!(server.found("i", &text(3), 1).await, ["d3"]);

    // With another target model nothing of the half-built generation is used.
    let copy = copy_of(&data);
    let third = RemoteEmbedder::with_width(16).await;
    let server = Server::start_in(settings(&copy, &third.settings("third", ""))).await;
    assert_eq!(wait_until_built(&server).await["model"], "third");
    assert_eq!(third.embedded(), 1 + 100);
    let folders = std::fs::read_dir(copy.path().join("indexes")).unwrap().count();
    assert_eq!(folders, 1, "the folder of the half-built generation is removed");

    // With the old model again there is nothing to build.
    let copy = copy_of(&data);
    let server = Server::start_in(settings(&copy, &old.settings("first", ""))).await;
    let index = server.get("/indexes/i").await.ok();
    assert_eq!((&index["model"], &index["next_generation"]), (&json!("first"), &Value::Null));
}

#[tokio::test]
async fn an_abandoned_generation_stays_abandoned() {
    let old = RemoteEmbedder::with_width(32).await;
    let data = data_of(&old, 40).await;
    let new = Embedder::new(16, "entry20").await;
    new.refuse(true);
    let yaml = new.remote.settings("second", "");
    let server = Server::start_in(settings(&data, &yaml)).await;
    wait_until(&server, |index| !index["next_generation"]["error"].is_null()).await;
    let given_up = server.delete("/indexes/i/generation").await.ok();
    assert_eq!(given_up["next_generation"]["phase"], "abandoned");
    assert!(server.get("/metrics").await.text.contains("ragengine_generations_total{outcome=\"abandoned\"} 1"));
    let message = server.delete("/indexes/i/generation").await.error(404);
    assert!(message.contains("no next generation"), "{message}");
    new.refuse(false);

    // Sentences of the answer are embedded with the index's own model, whose width differs from the server's.
    answers_from(&server, 20).await;
    // Neither a restart nor a request for the current settings resumes it. The old model keeps serving.
    let copy = copy_of(&data);
    let server = Server::start_in(settings(&copy, &yaml)).await;
    let is = server.get("/indexes/i").await.ok()["settings"].clone();
    for wanted in [json!({}), is] {
        let index = server.put("/indexes/i", &wanted).await.ok();
        assert_eq!((&index["model"], &index["next_generation"]["phase"]), (&json!("first"), &json!("abandoned")));
    }
    assert_eq!(server.found("i", &text(20), 1).await, ["d20"]);
    assert_eq!(std::fs::read_dir(copy.path().join("indexes")).unwrap().count(), 1);
    server.put("/indexes/i/generation", &json!({})).await.ok();
    assert_eq!(wait_until_built(&server).await["model"], "second");

    // A generation with other chunking is removed when the settings are reverted, and remembered when it is abandoned.
    new.refuse(true);
    let cut = json!({"chunking": {"maxTokens": 24, "overlapTokens": 0}});
    let index = server.put("/indexes/i", &cut).await.ok();
    assert_eq!(index["next_generation"]["phase"], "building");
    let is = index["settings"].clone();
    let index = server.put("/indexes/i", &is).await.ok();
    assert_eq!((&index["next_generation"], &index["settings"]), (&Value::Null, &is));
    server.put("/indexes/i", &cut).await.ok();
    let index = server.delete("/indexes/i/generation").await.ok();
    assert_eq!((&index["next_generation"]["phase"], &index["settings"]), (&json!("abandoned"), &is));
    let next = server.put("/indexes/i/generation", &json!({})).await.ok()["next_generation"].clone();
    assert_eq!((&next["phase"], &next["settings"]["chunking"]), (&json!("building"), &cut["chunking"]));
    server.delete("/indexes/nowhere/generation").await.error(404);
    server.put("/indexes/nowhere/generation", &json!({})).await.error(404);
    assert_eq!(server.delete("/indexes/i").await.status, 200);
    server.get("/indexes/i").await.error(404);
}

#[tokio::test]
async fn an_index_without_its_model_names_it_and_the_progress_of_the_next_one() {
    let old = Embedder::new(32, "").await;
    let data = data_of(&old.remote, 80).await;
    old.refuse(true);
    let new = Embedder::new(32, "entry70").await;
    new.refuse(true);
    let server = Server::start_in(settings(&data, &new.remote.settings("second", ""))).await;
    assert_eq!(server.get("/readyz").await.ok()["ready"], true);
    wait_until(&server, |index| !index["next_generation"]["error"].is_null()).await;
    let add = json!({"index_name": "i", "documents": [{"text": "x"}]});
    for reply in [
        server.post("/retrieve", &json!({"index_name": "i", "query": "x"})).await,
        server.post("/index", &add).await,
        server.post("/v1/chat/completions", &ask("i", "x")).await,
    ] {
        let message = reply.error(503);
        for said in ["'i'", "first", "not now", "second, has 64 of 80 documents"] {
            assert!(message.contains(said), "{said}: {message}");
        }
        assert!(reply.headers.contains_key("retry-after"));
    }
    // Requests that need no model still work.
    server.post("/indexes/i/documents/delete", &json!({"doc_ids": ["d5"]})).await.ok();
    new.refuse(false);
    let after = wait_until_built(&server).await;
    assert_eq!((&after["model"], &after["documents"]), (&json!("second"), &json!(79)));
    assert_eq!(server.found("i", &text(70), 1).await, ["d70"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_takeover_under_load_loses_nothing() {
    const WRITERS: usize = 3;
    const EACH: usize = 40;
    let embedder = RemoteEmbedder::with_width(32).await;
    let server = Arc::new(Server::start(&embedder.settings("m", "")).await);
    add(&server, 1000..1050).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let searched = Arc::new(AtomicUsize::new(0));
    let searching = tokio::spawn({
        let (server, is_over, searched) = (Arc::clone(&server), Arc::clone(&is_over), Arc::clone(&searched));
        async move {
            while !is_over.load(Ordering::Acquire) {
                assert_eq!(server.found("i", &text(1007), 1).await, ["d1007"]);
                searched.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let writer = |writer: usize| {
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            for step in 0..EACH {
                let number = writer * 100 + step;
                add(&server, [number]).await;
                // Every third document is deleted again, and every sixth is added once more.
                if step % 3 == 0 {
                    let body = json!({"doc_ids": [id(number)]});
                    let reply = server.post("/indexes/i/documents/delete", &body).await.ok();
                    assert_eq!(reply["deleted_doc_ids"], json!([id(number)]));
                }
                if step % 6 == 0 {
                    add(&server, [number]).await;
                }
            }
        })
    };
    let writers: Vec<_> = (0..WRITERS).map(writer).collect();
    for max_tokens in [24, 48, 30] {
        let wanted = json!({"chunking": {"maxTokens": max_tokens, "overlapTokens": 0}});
        server.put("/indexes/i", &wanted).await.ok();
        let index = wait_until_built(&server).await;
        assert_eq!(index["settings"]["chunking"]["maxTokens"], max_tokens);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::Release);
    searching.await.unwrap();
    assert!(searched.load(Ordering::Relaxed) > 0);
    let written = (0..WRITERS).flat_map(|writer| (0..EACH).map(move |step| (writer * 100 + step, step)));
    let kept = written.filter(|(_, step)| step % 3 != 0 || step % 6 == 0).map(|(number, _)| id(number));
    let expected: BTreeSet<String> = kept.chain((1000..1050).map(id)).collect();
    let listed = listed(&server).await;
    assert_eq!(listed.len(), expected.len());
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), expected);
}

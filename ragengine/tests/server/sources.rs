use std::sync::Arc;

use ragengine::app::App;
use ragengine_client::wire::{
    Document, FileError, IndexSettings, PutSourceSync, SourceDescription, SourceDocument, SyncPhase,
};
use ragengine_client::{Client, ClientError, content_hash};
use ragengine_index::Index;
use ragengine_index::sources::{LEASE, Moment};
use serde_json::{Map, Value, json};

use crate::support::embedder::RemoteEmbedder;
use crate::support::process::Process;
use crate::support::{Server, settings};

const WIDTH: usize = 64;

/// A server with a scripted embedder and an index `i`.
async fn server() -> (Server, Client, RemoteEmbedder) {
    let embedder = RemoteEmbedder::with_width(WIDTH).await;
    let server = Server::start(&embedder.settings("m", "")).await;
    let client = client(&server.url);
    client.put_index("i", &IndexSettings::default()).await.unwrap();
    (server, client, embedder)
}

fn client(url: &str) -> Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::direct(url).unwrap()
}

fn index(app: &App) -> Arc<Index> {
    app.loaded().unwrap().catalog.local().unwrap().get("i").unwrap()
}

/// A document of a source.
fn document(source: &str, doc_id: &str, text: &str) -> Document {
    let (doc_id, source) = (Some(doc_id.to_owned()), Some(source.to_owned()));
    Document { doc_id, source, text: text.to_owned(), ..Document::default() }
}

fn with_revision(document: Document, revision: &str) -> Document {
    Document { revision: Some(revision.to_owned()), ..document }
}

fn running(sync_id: &str) -> PutSourceSync {
    PutSourceSync::new(sync_id, SyncPhase::Running)
}

fn complete(sync_id: &str) -> PutSourceSync {
    let errors = vec![FileError { path: "bad.pdf".into(), message: "it is not a PDF".into() }];
    PutSourceSync {
        revision: Some("r1".into()),
        done: 3,
        total: 3,
        error_count: 1,
        errors,
        ..PutSourceSync::new(sync_id, SyncPhase::Complete)
    }
}

fn empty_source(name: &str) -> SourceDescription {
    SourceDescription { name: name.to_owned(), documents: 0, chunks: 0, bytes: 0, sync: None }
}

fn refusal_message(result: Result<impl std::fmt::Debug, ClientError>, status: u16) -> String {
    match result.unwrap_err() {
        ClientError::Refused { status: refused, message } if refused == status => message,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_source_counts_its_documents() {
    let (_server, client, _embedder) = server().await;
    assert_eq!(client.sources("i").await.unwrap(), []);
    assert_eq!(client.source("i", "own.a").await.unwrap(), empty_source("own.a"));
    let documents = vec![
        document("own.a", "own.a/1", "One."),
        document("own.a", "own.a/2", "And two."),
        document("free form, ä", "f", "Free."),
        Document { text: "Of no source.".into(), ..Document::default() },
    ];
    client.add("i", documents).await.unwrap();
    client.put_source_sync("i", "own.b", &complete("sync")).await.unwrap();
    let two = SourceDescription { documents: 2, chunks: 2, bytes: 12, ..empty_source("own.a") };
    assert_eq!(client.source("i", "own.a").await.unwrap(), two);
    let sources = client.sources("i").await.unwrap();
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!((names, &sources[1]), (vec!["free form, ä", "own.a", "own.b"], &two));
    assert_eq!((sources[2].documents, sources[2].sync.as_ref().map(|sync| sync.total)), (0, Some(3)));
    // The counts follow a changed document and one that moves to another source.
    let moved = vec![document("own.a", "own.a/1", "One, and long."), document("own.c", "own.a/2", "And two.")];
    client.add("i", moved).await.unwrap();
    let sizes = |source: SourceDescription| (source.documents, source.chunks, source.bytes);
    assert_eq!(sizes(client.source("i", "own.a").await.unwrap()), (1, 1, 14));
    assert_eq!(sizes(client.source("i", "own.c").await.unwrap()), (1, 1, 8));
    client.delete("i", vec!["own.a/2".into()]).await.unwrap();
    assert_eq!(client.source("i", "own.c").await.unwrap(), empty_source("own.c"));
}

#[tokio::test]
async fn a_sync_record_is_returned_with_its_times() {
    let (server, client, _embedder) = server().await;
    let put = client.put_source_sync("i", "s", &running("a")).await.unwrap();
    let began = put.sync.unwrap();
    assert_eq!((began.phase, began.finished_at, began.revision), (SyncPhase::Running, None, None));
    let metrics = async || server.get("/metrics").await.text;
    assert!(metrics().await.contains("\nragengine_source_syncs_running 1\n"));
    let put = client.put_source_sync("i", "s", &complete("a")).await.unwrap();
    assert_eq!(client.source("i", "s").await.unwrap(), put);
    assert!(metrics().await.contains("\nragengine_source_syncs_running 0\n"));
    let shown = server.get("/indexes/i/sources/s").await.ok();
    let finished_at = shown["sync"]["finished_at"].as_str().unwrap();
    assert!(finished_at >= began.started_at.as_str() && finished_at.ends_with('Z'), "{finished_at}");
    assert_eq!(
        shown["sync"],
        json!({
            "sync_id": "a", "phase": "complete", "revision": "r1", "done": 3, "total": 3, "held_back": 0,
            "error_count": 1, "errors": [{"path": "bad.pdf", "message": "it is not a PDF"}],
            "started_at": began.started_at, "finished_at": finished_at
        })
    );
}

#[tokio::test]
async fn a_source_has_one_synchronisation_at_a_time() {
    let (server, client, _embedder) = server().await;
    let begun = client.put_source_sync("i", "s", &running("a")).await.unwrap();
    let refused = client.put_source_sync("i", "s", &running("b")).await;
    assert!(refused.as_ref().is_err_and(ClientError::is_conflict));
    let message = refusal_message(refused, 409);
    let day = &begun.sync.as_ref().unwrap().started_at[..10];
    assert!(message.contains("'s'") && message.contains("'a'") && message.contains(day), "{message}");
    client.put_source_sync("i", "other", &running("b")).await.unwrap();
    client.put_source_sync("i", "s", &running("a")).await.unwrap();
    // The lease of a synchronisation that sends nothing for a minute expires.
    let now = Moment::now();
    let in_a_minute = Moment { monotonic: now.monotonic + LEASE, ..now };
    index(&server.app).put_sync("s", running("b"), &in_a_minute).unwrap();
    assert!(refusal_message(client.put_source_sync("i", "s", &complete("a")).await, 409).contains("'b'"));
    client.put_source_sync("i", "s", &complete("b")).await.unwrap();
    client.put_source_sync("i", "s", &running("a")).await.unwrap();
}

#[tokio::test]
async fn one_of_several_concurrent_synchronisations_gets_the_source() {
    let (_server, client, _embedder) = server().await;
    for round in 0..20 {
        let source = format!("s{round}");
        let ids: Vec<String> = (0..8).map(|number| format!("sync-{number}")).collect();
        let begin = |sync_id: &String| {
            let (client, source, put) = (client.clone(), source.clone(), running(sync_id));
            tokio::spawn(async move { client.put_source_sync("i", &source, &put).await })
        };
        let mut winners = Vec::new();
        for task in ids.iter().map(begin).collect::<Vec<_>>() {
            match task.await.unwrap() {
                Ok(source) => winners.push(source.sync.unwrap().sync_id),
                Err(error) => assert!(error.is_conflict(), "{error}"),
            }
        }
        let whose = client.source("i", &source).await.unwrap().sync.unwrap().sync_id;
        assert_eq!(winners, [whose]);
    }
}

#[tokio::test]
async fn a_synchronisation_without_changes_writes_nothing() {
    let embedder = RemoteEmbedder::with_width(WIDTH).await;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_in(settings(&data, &embedder.settings("m", ""))).await;
    let client = client(&server.url);
    let documents = || vec![with_revision(document("s", "s/a", "One."), "1"), document("s", "s/b", "Two.")];
    client.add("i", documents()).await.unwrap();
    client.put_source_sync("i", "s", &running("first")).await.unwrap();
    client.put_source_sync("i", "s", &complete("first")).await.unwrap();
    let store = || std::fs::read(data.path().join("indexes/00000001/store.redb")).unwrap();
    let before = store();
    for sync_id in ["second", "third"] {
        client.put_index("i", &IndexSettings::default()).await.unwrap();
        client.put_source_sync("i", "s", &running(sync_id)).await.unwrap();
        client.source_documents("i", "s").await.unwrap();
        client.add("i", documents()).await.unwrap();
        let shown = client.put_source_sync("i", "s", &complete(sync_id)).await.unwrap();
        assert_eq!(shown.sync.unwrap().sync_id, sync_id);
    }
    assert!(store() == before, "something was written");
    client.put_source_sync("i", "s", &PutSourceSync { done: 2, ..complete("fourth") }).await.unwrap();
    assert!(store() != before, "nothing was written");
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn a_finished_synchronisation_survives_a_kill_and_is_logged() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Process::start(data.path());
    let (kept, unsaved) = run(async {
        let client = client(&server.url);
        client.put_index("i", &IndexSettings::default()).await.unwrap();
        client.add("i", vec![with_revision(document("s", "s/a", "One."), "etag-1")]).await.unwrap();
        client.put_source_sync("i", "s", &running("a")).await.unwrap();
        let kept = client.put_source_sync("i", "s", &complete("a")).await.unwrap();
        client.put_source_sync("i", "s", &running("b")).await.unwrap();
        client.put_source_sync("i", "new", &running("b")).await.unwrap();
        client.put_source_sync("i", "gone", &complete("a")).await.unwrap();
        client.delete_source("i", "gone").await.unwrap();
        (kept, client.source("i", "s").await.unwrap())
    });
    assert_ne!(kept, unsaved);
    let ended = server.wait_until("has logged the end", |server| {
        server.log_lines().into_iter().find(|line| line["message"] == "sync ended")
    });
    let fields =
        ["index", "source", "sync_id", "outcome", "done", "errors", "held_back"].map(|name| ended[name].clone());
    assert_eq!(Value::from(fields.to_vec()), json!(["i", "s", "a", "complete", 3, 1, 0]));
    assert!(ended["elapsed_s"].is_number());
    let began: Vec<Value> = server.log_lines().into_iter().filter(|line| line["message"] == "sync started").collect();
    assert_eq!(began.len(), 3, "{began:?}");
    server.kill();
    let server = Process::start(data.path());
    run(async {
        let client = client(&server.url);
        assert_eq!(client.sources("i").await.unwrap(), [kept]);
        assert_eq!(client.source_documents("i", "s").await.unwrap()[0].revision.as_deref(), Some("etag-1"));
        // No synchronisation holds the source after the restart.
        client.put_source_sync("i", "s", &running("c")).await.unwrap();
    });
}

#[tokio::test]
async fn deleting_a_source_deletes_only_its_documents() {
    let (server, client, _embedder) = server().await;
    let of = |source: &'static str| {
        (0..450).map(move |number| {
            let text = format!("Entry {number} of {source}.");
            with_revision(document(source, &format!("{source}/{number}"), &text), "1")
        })
    };
    client.add("i", of("s").collect()).await.unwrap();
    client
        .add("i", of("t").take(3).chain([Document { text: "Free.".into(), ..Document::default() }]).collect())
        .await
        .unwrap();
    client.put_source_sync("i", "s", &complete("a")).await.unwrap();
    assert_eq!(client.delete_source("i", "s").await.unwrap().documents, 450);
    assert_eq!(client.source("i", "s").await.unwrap(), empty_source("s"));
    assert_eq!(client.source_documents("i", "s").await.unwrap(), []);
    assert_eq!(client.sources("i").await.unwrap().len(), 1);
    let left = client.index("i").await.unwrap();
    assert_eq!((left.documents, left.chunks), (4, 4));
    assert!(server.found("i", "Entry 3 of s.", 300).await.iter().all(|doc_id| !doc_id.starts_with("s/")));
    // Deleting a source that is already gone deletes nothing.
    assert_eq!(client.delete_source("i", "s").await.unwrap().documents, 0);
    // Deleting a source ends its running synchronisation, so another one can begin.
    client.put_source_sync("i", "s", &running("b")).await.unwrap();
    client.delete_source("i", "s").await.unwrap();
    client.put_source_sync("i", "s", &running("c")).await.unwrap();
}

#[tokio::test]
async fn a_changed_revision_is_stored_without_splitting_or_embedding() {
    let (server, client, embedder) = server().await;
    let text = "A text about ships.";
    let plain = || document("s", "d", text);
    let listed = async || client.source_documents("i", "s").await.unwrap();
    let same = |revision: Option<&str>| SourceDocument {
        doc_id: "d".into(),
        content_hash: content_hash(text, &Map::new()),
        revision: revision.map(str::to_owned),
    };
    client.add("i", vec![plain()]).await.unwrap();
    assert_eq!(listed().await, [same(None)]);
    let embedded = embedder.embedded();
    for (sent, stored) in [
        (with_revision(plain(), "1"), Some("1")),
        (with_revision(plain(), "2"), Some("2")),
        (with_revision(plain(), "2"), Some("2")),
        // A document without a revision keeps the stored one.
        (plain(), Some("2")),
    ] {
        client.add("i", vec![sent]).await.unwrap();
        assert_eq!(listed().await, [same(stored)]);
    }
    let update = json!({"documents": [{"doc_id": "d", "source": "s", "text": text, "revision": "3"}]});
    let reply = server.post("/indexes/i/documents", &update).await.ok();
    assert_eq!(
        (reply["unchanged_documents"][0]["doc_id"].as_str(), listed().await),
        (Some("d"), vec![same(Some("3"))])
    );
    assert_eq!(embedder.embedded(), embedded);
    // A change of the metadata removes the stored revision.
    let metadata = json!({"title": "Ships"}).as_object().unwrap().clone();
    let changed = || Document { metadata: metadata.clone(), ..plain() };
    client.add("i", vec![changed()]).await.unwrap();
    assert_eq!(listed().await[0].revision, None);
    client.add("i", vec![with_revision(changed(), "4")]).await.unwrap();
    assert_eq!(listed().await[0].revision.as_deref(), Some("4"));
    // Deleting the document deletes its revision.
    client.delete("i", vec!["d".into()]).await.unwrap();
    client.add("i", vec![plain()]).await.unwrap();
    assert_eq!(listed().await, [same(None)]);
    // Replies to questions do not contain the revision.
    client.add("i", vec![with_revision(plain(), "etag-5")]).await.unwrap();
    let retrieval = json!({"index_name": "i", "query": text});
    let chat = json!({"index_name": "i", "messages": [{"role": "user", "content": text}]});
    for (path, question) in [("/retrieve", retrieval), ("/v1/chat/completions", chat)] {
        let reply = server.post(path, &question).await;
        assert!(
            reply.status == 200 && reply.text.contains("ships") && !reply.text.contains("etag-5"),
            "{}",
            reply.text
        );
    }
}

#[tokio::test]
async fn a_renamed_document_is_not_embedded_again() {
    let (_server, client, embedder) = server().await;
    let titled = |doc_id: &str, title: &str| {
        let metadata = json!({"title": title, "split_type": "pages"}).as_object().unwrap().clone();
        Document { metadata, ..document("s", doc_id, "Page one.\u{c}Page two.") }
    };
    client.add("i", vec![titled("s/old.pdf", "old")]).await.unwrap();
    let embedded = embedder.embedded();
    client.add("i", vec![titled("s/new.pdf", "new")]).await.unwrap();
    client.delete("i", vec!["s/old.pdf".into()]).await.unwrap();
    client.add("i", vec![titled("s/newer.pdf", "newer")]).await.unwrap();
    assert_eq!(embedder.embedded(), embedded);
}

#[tokio::test]
async fn an_invalid_sync_record_is_refused_with_its_reason() {
    let (server, client, _embedder) = server().await;
    let good = json!({"sync_id": "a", "phase": "running"});
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    for (source, body, status, words) in [
        ("s", json!({}), 422, "sync_id"),
        ("s", json!({"sync_id": "a"}), 422, "phase"),
        ("s", with("phase", json!("paused")), 422, "running"),
        ("s", with("done", json!(-1)), 422, "done"),
        ("s", with("errors", json!([{"path": "p"}])), 422, "message"),
        ("s", with("sync_id", json!("")), 400, "sync_id is empty"),
        ("s", with("errors", json!([{"path": "p", "message": "m"}])), 400, "error_count"),
        ("s", with("message", json!("m".repeat(1001))), 400, "1000"),
        ("a%20b", good.clone(), 400, "1 to 128"),
        (&"s".repeat(129), good.clone(), 400, "1 to 128"),
    ] {
        let message = server.put(&format!("/indexes/i/sources/{source}"), &body).await.error(status);
        assert!(message.contains(words), "{body}: {message}");
    }
    assert_eq!(client.sources("i").await.unwrap(), []);
}

#[tokio::test]
async fn the_sources_of_a_missing_index_are_not_found() {
    let (_server, client, _embedder) = server().await;
    let expected = "No such index: 'nowhere' exists.";
    assert_eq!(refusal_message(client.sources("nowhere").await, 404), expected);
    assert_eq!(refusal_message(client.source("nowhere", "s").await, 404), expected);
    assert_eq!(refusal_message(client.put_source_sync("nowhere", "s", &running("a")).await, 404), expected);
    assert_eq!(refusal_message(client.delete_source("nowhere", "s").await, 404), expected);
    assert_eq!(refusal_message(client.index("nowhere").await, 404), expected);
}

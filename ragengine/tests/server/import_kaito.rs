//! `ragengine import kaito`, with the folder that the tests of `ragengine-kaito` read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::Server;
use crate::support::process::program;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kaito/fixtures/handbook")
}

/// Runs the command on a blocking thread, so that the server in this process can answer it. Returns whether it
/// succeeded, its standard output and its standard error.
async fn import(server: &str, folder: &Path, more: &[&str]) -> (bool, String, String) {
    let mut command = program();
    command.args(["import", "kaito"]).arg(folder).args(["--server", server]).args(more);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_of_a_persisted_index_are_found_with_their_ids_and_metadata() {
    let server = Server::start("{}").await;
    let (succeeded, said, complained) = import(&server.url, &fixture(), &[]).await;
    assert!(succeeded, "{complained}");
    assert_eq!(said, "handbook: 3 sent, 0 unchanged\n");
    let found = server
        .post("/retrieve", &json!({"index_name": "handbook", "query": "How do I take a day off?", "max_node_count": 1}))
        .await
        .ok();
    assert_eq!(found["results"][0]["doc_id"], "leave");
    assert_eq!(found["results"][0]["metadata"], json!({"path": "leave.md", "priority": 7, "tags": ["hr", "time"]}));
    let filtered = json!({"index_name": "handbook", "query": "leave", "metadata_filter": {"priority": {"$gte": 7}}});
    assert_eq!(server.post("/retrieve", &filtered).await.ok()["count"], 1);
    assert_eq!(server.get("/indexes/handbook/documents").await.ok()["total_items"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_import_sends_nothing_and_another_name_is_another_index() {
    let server = Server::start("{}").await;
    assert!(import(&server.url, &fixture(), &["--index", "rules"]).await.0);
    assert_eq!(import(&server.url, &fixture(), &["--index", "rules"]).await.1, "rules: 0 sent, 3 unchanged\n");
    assert_eq!(import(&server.url, &fixture(), &[]).await.1, "handbook: 3 sent, 0 unchanged\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_refused_is_named_and_the_others_are_there() {
    let server = Server::start("limits: {maxDocumentBytes: 1024}").await;
    let (succeeded, said, complained) = import(&server.url, &fixture(), &[]).await;
    assert!(!succeeded);
    assert_eq!(said, "handbook: 2 sent, 0 unchanged\n");
    assert!(complained.contains("1 documents could not be sent") && complained.contains("long: "), "{complained}");
    assert!(complained.contains("limits.maxDocumentBytes"), "{complained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_imported_is_explained() {
    let nothing = tempfile::tempdir().unwrap();
    let (_, _, complained) = import("http://127.0.0.1:9", nothing.path(), &[]).await;
    let expected = format!(
        "ragengine: cannot import {}: cannot read index_store.json: No such file or directory (os error 2)\n",
        nothing.path().display()
    );
    assert_eq!(complained, expected);
    fs::write(nothing.path().join("index_store.json"), r#"{"index_store/data": {"old": {}}}"#).unwrap();
    fs::write(nothing.path().join("docstore.json"), "{}").unwrap();
    let (_, _, complained) = import("http://127.0.0.1:9", nothing.path(), &[]).await;
    assert!(complained.contains("the index 'old'") && complained.contains("has no documents"), "{complained}");
    let (_, _, complained) = import("http://127.0.0.1:9", &fixture(), &[]).await;
    assert!(complained.contains("start the server with `ragengine serve`"), "{complained}");
}

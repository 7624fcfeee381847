//! `ragengine import kaito`, with the folder that the tests of `ragengine-kaito` read.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ragengine_index::archive::{MAX_BLOCK_BYTES, Piece, Row, read};
use ragengine_kaito::{ImportedChunk, PersistedIndex};
use serde_json::{Value, json};

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

/// Vectors that the server makes, by the ids of their chunks.
async fn embedded(server: &Server, chunks: &[ImportedChunk]) -> HashMap<String, Vec<f32>> {
    let document = |chunk: &ImportedChunk| json!({"doc_id": chunk.node_id, "text": chunk.text});
    let documents: Vec<Value> = chunks.iter().map(document).collect();
    server.post("/index", &json!({"index_name": "embedded", "documents": documents})).await.ok();
    let backup = reqwest::get(format!("{}/backup?index=embedded", server.url)).await.unwrap().bytes().await.unwrap();
    let (mut vectors, mut document) = (HashMap::new(), String::new());
    let mut take = |row| match row {
        Row::Document { record, .. } => document = record.doc_id,
        Row::Chunk { vector, .. } => drop(vectors.entry(document.clone()).or_insert(vector)),
        Row::Sync { .. } => {}
    };
    let pieces = |piece| {
        if let Piece::Rows(rows) = piece {
            rows.into_iter().for_each(&mut take);
        }
        Ok::<(), anyhow::Error>(())
    };
    read(&backup[..], MAX_BLOCK_BYTES, pieces).unwrap();
    server.delete("/indexes/embedded").await.ok();
    vectors
}

/// The fixture, with other vectors: the FAISS file of an `IndexIDMap` around an `IndexFlatL2`, and its `id_map.json`.
fn with_vectors(chunks: &[ImportedChunk], vector_of: impl Fn(&str) -> Vec<f32>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["docstore.json", "index_store.json"] {
        fs::copy(fixture().join(file), folder.path().join(file)).unwrap();
    }
    let values: Vec<f32> = chunks.iter().flat_map(|chunk| vector_of(&chunk.node_id)).collect();
    let (count, numbers) = (chunks.len(), (0..chunks.len()).rev());
    let head = |kind: &[u8; 4]| {
        let dimensions = i32::try_from(values.len() / count).unwrap();
        let rest = [&(count as i64).to_le_bytes()[..], &[0; 16], &[1], &1_i32.to_le_bytes()].concat();
        [&kind[..], &dimensions.to_le_bytes(), &rest].concat()
    };
    let mut file = [head(b"IxMp"), head(b"IxF2"), (values.len() as u64).to_le_bytes().to_vec()].concat();
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    file.extend((count as u64).to_le_bytes());
    file.extend(numbers.clone().flat_map(|number| (number as i64).to_le_bytes()));
    fs::write(folder.path().join("default__vector_store.json"), file).unwrap();
    let map: HashMap<&str, usize> = chunks.iter().map(|chunk| chunk.node_id.as_str()).zip(numbers).collect();
    let map = json!({"node_id_to_faiss_id_map": map, "faiss_id_to_node_id_map": {}});
    fs::write(folder.path().join("id_map.json"), map.to_string()).unwrap();
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_the_same_model_are_kept() {
    let server = Server::start("{}").await;
    let documents = PersistedIndex::read(&fixture()).unwrap().documents;
    let chunks: Vec<ImportedChunk> = documents.into_iter().flat_map(|document| document.chunks).collect();
    let vectors = embedded(&server, &chunks).await;
    // KAITO's vectors need not have the length 1.
    let folder = with_vectors(&chunks, |node_id| vectors[node_id].iter().map(|value| value * 3.0).collect());
    let (succeeded, said, complained) = import(&server.url, folder.path(), &["--keep-vectors"]).await;
    assert!(succeeded, "{complained}");
    assert_eq!(said, "handbook: 3 documents with 6 chunks, whose vectors were kept\n");
    assert_eq!(server.get("/indexes").await.ok(), json!(["handbook"]));
    let text = chunks.iter().find(|chunk| chunk.text.contains("day off")).unwrap().text.clone();
    let found = server.post("/retrieve", &json!({"index_name": "handbook", "query": text})).await.ok();
    assert_eq!(found["results"][0]["doc_id"], "leave");
    assert_eq!(found["results"][0]["text"], text);
    assert!(found["results"][0]["score"].as_f64().unwrap() > 0.99, "{found}");
    assert_eq!(found["results"][0]["metadata"], json!({"path": "leave.md", "priority": 7, "tags": ["hr", "time"]}));
    // The documents are known from now on, and the index is not replaced.
    assert_eq!(import(&server.url, folder.path(), &[]).await.1, "handbook: 0 sent, 3 unchanged\n");
    let (_, _, complained) = import(&server.url, folder.path(), &["--keep-vectors"]).await;
    assert!(complained.contains("index 'handbook' exists"), "{complained}");
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_of_another_model_are_refused_and_leave_nothing() {
    let server = Server::start("{}").await;
    let (_, _, complained) = import(&server.url, &fixture(), &["--keep-vectors"]).await;
    assert!(complained.contains("the vectors have 8 dimensions") && complained.contains("384"), "{complained}");
    let documents = PersistedIndex::read(&fixture()).unwrap().documents;
    let chunks: Vec<ImportedChunk> = documents.into_iter().flat_map(|document| document.chunks).collect();
    let vectors = embedded(&server, &chunks).await;
    let folder = with_vectors(&chunks, |node_id| vectors[node_id].iter().rev().copied().collect());
    let (succeeded, _, complained) = import(&server.url, folder.path(), &["--keep-vectors"]).await;
    assert!(!succeeded && complained.contains("another embedding model than the server's"), "{complained}");
    let folder = with_vectors(&chunks, |_| vec![0.0; 384]);
    let (succeeded, _, complained) = import(&server.url, folder.path(), &["--keep-vectors"]).await;
    assert!(!succeeded && complained.contains("has no direction"), "{complained}");
    assert_eq!(server.get("/indexes").await.ok(), json!([]));
}

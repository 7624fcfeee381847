//! llama-index 0.14.25 wrote the fixture in the way of KAITO: `VectorStoreIndex` with `FaissVectorStore` 0.7.0 and FAISS
//! 1.15.1, and `SentenceSplitter` with an overlap.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/handbook")
}

/// A copy of the fixture with one file replaced, or removed.
fn changed(file: &str, content: Option<&[u8]>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture()).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    match content {
        Some(content) => fs::write(folder.path().join(file), content).unwrap(),
        None => fs::remove_file(folder.path().join(file)).unwrap(),
    }
    folder
}

fn words(paragraph: usize) -> String {
    (0..150).map(|word| format!("w{paragraph}x{word}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_persisted_index_has_the_documents_that_were_sent() {
    let PersistedIndex { name, documents } = PersistedIndex::read(&fixture()).unwrap();
    assert_eq!(name, "handbook");
    let document = |doc_id: &str, text: &str, metadata: Value| (doc_id.to_owned(), text.to_owned(), metadata);
    let expected = [
        document(
            "leave",
            "Take a day off.\n\nAsk your lead — über Nacht geht es nicht.",
            json!({"path": "leave.md", "priority": 7, "tags": ["hr", "time"]}),
        ),
        document("long", &format!("Long document. {}.\n\n{}.", words(1), words(2)), json!({"path": "long.txt"})),
        document(
            "code",
            "def one():\n    return 1\n\n\ndef two():\n    return 2",
            json!({"split_type": "code", "language": "python"}),
        ),
    ];
    let found = documents.into_iter().map(|found| (found.doc_id, found.text, Value::Object(found.metadata)));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn folders_of_something_else_are_refused() {
    let two = br#"{"index_store/data": {"a": {"__data__": "{}"}, "b": {"__data__": "{}"}}}"#;
    for (file, content, expected) in [
        ("docstore.json", None, "cannot read docstore.json: No such file"),
        ("docstore.json", Some(&b"1"[..]), "docstore.json is not a store of llama-index"),
        ("docstore.json", Some(br#"{"docstore/ref_doc_info": {"d": {"node_ids": ["x"]}}}"#), "lacks chunk 'x'"),
        ("docstore.json", Some(br#"{"docstore/ref_doc_info": {"d": 1}}"#), "docstore.json is not a store"),
        ("docstore.json", Some(br#"{"docstore/data": {"#), "docstore.json is not a store"),
        ("index_store.json", None, "cannot read index_store.json"),
        ("index_store.json", Some(b"{}"), "has 0 indexes, not 1"),
        ("index_store.json", Some(two), "has 2 indexes, not 1"),
    ] {
        let folder = changed(file, content);
        let error = PersistedIndex::read(folder.path()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error} instead of {expected}");
        assert!(!error.kind().is_empty());
    }
}

//! llama-index 0.14.25 wrote the fixtures in the ways of newer and older versions of KAITO: `FaissMapVectorStore`
//! (`rules`, with a document that was deleted) and `FaissVectorStore` (`handbook`), both 0.7.0, with FAISS 1.15.1.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::PersistedIndex;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

/// A copy of the fixture `rules` with one file replaced.
fn changed(file: &str, content: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture("rules")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    fs::write(folder.path().join(file), content).unwrap();
    folder
}

/// The vectors of all chunks of a persisted index.
fn vectors(name: &str) -> Vec<(String, Vec<f32>)> {
    let (index, vectors) =
        (PersistedIndex::read(&fixture(name)).unwrap(), PersistedVectors::open(&fixture(name)).unwrap());
    assert_eq!(vectors.dimensions(), 8);
    let chunks = index.documents.into_iter().flat_map(|document| document.chunks);
    chunks.map(|chunk| (chunk.text, vectors.of(&chunk.node_id).unwrap())).collect()
}

/// The vector that the fixture's embedding has for a text: the sum of its bytes decides.
fn embedded(text: &str) -> Vec<f32> {
    let sum = text.bytes().map(u32::from).sum::<u32>() % 997;
    (3..11).map(|factor| (sum * factor % 17) as f32).collect()
}

#[test]
fn each_chunk_has_its_own_vector() {
    let found = vectors("rules");
    assert_eq!(found.len(), 4);
    for (text, vector) in found {
        let path = if text == "Take a day off." { "leave.md" } else { "long.txt" };
        assert_eq!(vector, embedded(&format!("path: {path}\n\n{text}")), "{text}");
    }
    let old = vectors("handbook");
    assert_eq!((old.len(), &old[0].1), (6, &vec![0.5; 8]));
}

#[test]
fn a_vector_that_is_missing_or_has_the_number_of_another_is_an_error() {
    let vectors = PersistedVectors::open(&fixture("rules")).unwrap();
    assert_eq!(vectors.of("x").unwrap_err().to_string(), "the FAISS file has 0 vectors for chunk 'x', not 1");
    let map = br#"{"node_id_to_faiss_id_map": {"deleted": 1, "negative": -1, "there": 0}}"#;
    let vectors = PersistedVectors::open(changed("id_map.json", map).path()).unwrap();
    for node_id in ["deleted", "negative"] {
        assert!(matches!(vectors.of(node_id), Err(KaitoError::Vector { count: 0, .. })), "{node_id}");
    }
    assert!(vectors.of("there").is_ok());
    // KAITO removed the vectors of both when a third chunk with their number was deleted, and used the number again.
    let map = br#"{"node_id_to_faiss_id_map": {"old": 0, "new": 0}}"#;
    let vectors = PersistedVectors::open(changed("id_map.json", map).path()).unwrap();
    for node_id in ["old", "new"] {
        assert!(matches!(vectors.of(node_id), Err(KaitoError::SharedNumber { chunks: 2, .. })), "{node_id}");
    }
    // The last number is that of the first vector.
    let mut file = fs::read(fixture("rules").join("default__vector_store.json")).unwrap();
    let end = file.len();
    file[end - 8..].copy_from_slice(&0_i64.to_le_bytes());
    let vectors = PersistedVectors::open(changed("default__vector_store.json", &file).path()).unwrap();
    let said = PersistedIndex::read(&fixture("rules")).unwrap().documents[0].chunks[0].node_id.clone();
    assert!(matches!(vectors.of(&said), Err(KaitoError::Vector { count: 2, .. })));
}

#[test]
fn files_of_something_else_are_refused() {
    for (file, content, expected) in [
        ("default__vector_store.json", &b"{}"[..], "default__vector_store.json cannot be read as a flat FAISS index"),
        ("id_map.json", b"{}", "id_map.json does not say which vector belongs to which chunk"),
    ] {
        let error = PersistedVectors::open(changed(file, content).path()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let nothing = tempfile::tempdir().unwrap();
    let error = PersistedVectors::open(nothing.path()).unwrap_err();
    assert!(error.to_string().contains("cannot read default__vector_store.json"), "{error}");
}

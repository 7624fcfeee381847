//! Which vector belongs to which chunk.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::error::KaitoError;
use crate::folder::{INDEXES, json};
use crate::stores::{IndexNodes, IndexStructure};

const ID_MAP: &str = "id_map.json";

/// `id_map.json` of llama-index's `FaissMapVectorStore`.
#[derive(Debug, Deserialize)]
struct IdMap {
    node_id_to_faiss_id_map: HashMap<String, i64>,
}

/// The number of each chunk's vector, by the id of the chunk. Newer versions of KAITO write it to `id_map.json`, and
/// older ones to `index_store.json`.
///
/// # Errors
///
/// [`KaitoError`] if the file is missing or damaged.
pub fn vector_numbers(folder: &Path) -> Result<HashMap<String, i64>, KaitoError> {
    match fs::read_to_string(folder.join(ID_MAP)) {
        Ok(text) => id_map(&text).ok_or(KaitoError::IdMap(ID_MAP)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let store: IndexNodes = json(folder, INDEXES)?;
            of_index(store).ok_or(KaitoError::IdMap(INDEXES))
        }
        Err(error) => Err(KaitoError::Read { file: ID_MAP, error }),
    }
}

/// llama-index writes the file as Python prints a dictionary, not as JSON. Its first part has texts and numbers only, so
/// that it differs by the quotation marks.
fn id_map(text: &str) -> Option<HashMap<String, i64>> {
    if let Ok(map) = serde_json::from_str::<IdMap>(text) {
        return Some(map.node_id_to_faiss_id_map);
    }
    let (first, _) = text.split_once("}, 'faiss_id_to_node_id_map': {")?;
    if first.contains(['"', '\\']) {
        return None;
    }
    let first = format!("{}}}}}", first.replace('\'', "\""));
    serde_json::from_str::<IdMap>(&first).ok().map(|map| map.node_id_to_faiss_id_map)
}

fn of_index(store: IndexNodes) -> Option<HashMap<String, i64>> {
    let index = store.indexes.into_values().next()?;
    let structure: IndexStructure = serde_json::from_str(&index.data).ok()?;
    structure.nodes_dict.into_iter().map(|(number, node_id)| Some((node_id, number.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_is_read_as_python_prints_it_and_as_json() {
        for text in [
            "{'node_id_to_faiss_id_map': {'a-1': 0, 'b': 7}, 'faiss_id_to_node_id_map': {0: 'a-1', 7: 'b'}}",
            r#"{"node_id_to_faiss_id_map": {"a-1": 0, "b": 7}, "faiss_id_to_node_id_map": {"0": "a-1", "7": "b"}}"#,
        ] {
            assert_eq!(id_map(text), Some(HashMap::from([("a-1".to_owned(), 0), ("b".to_owned(), 7)])), "{text}");
        }
        assert_eq!(id_map("{'node_id_to_faiss_id_map': {}, 'faiss_id_to_node_id_map': {}}"), Some(HashMap::new()));
        for text in [
            "",
            "{}",
            "{'node_id_to_faiss_id_map': {'a': 0",
            "{'node_id_to_faiss_id_map': {'a': 'b'}, 'faiss_id_to_node_id_map': {}}",
            "{'node_id_to_faiss_id_map': {\"it's\": 0}, 'faiss_id_to_node_id_map': {}}",
        ] {
            assert_eq!(id_map(text), None, "{text}");
        }
    }
}

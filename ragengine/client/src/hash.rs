use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The default id of a document: the SHA-256 of its text, so that equal texts are the same document.
pub fn default_doc_id(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// The SHA-256 of a document's text and metadata. The order of the metadata's keys does not matter.
///
/// Clients can compare it with the hashes that the server lists, and send only changed documents.
pub fn content_hash(text: &str, metadata: &Map<String, Value>) -> String {
    let metadata = canonical(&Value::Object(metadata.clone())).to_string();
    let mut hasher = Sha256::new();
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
    hasher.update(metadata.as_bytes());
    hex::encode(hasher.finalize())
}

/// Sorts the keys of every object.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            Value::Object(sorted.into_iter().map(|(key, value)| (key.clone(), canonical(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hash(text: &str, metadata: Value) -> String {
        content_hash(text, metadata.as_object().unwrap())
    }

    #[test]
    fn the_hash_depends_on_text_and_metadata_but_not_on_key_order() {
        let one = hash("t", json!({"a": 1, "b": {"c": 2, "d": 3}}));
        assert_eq!(one, hash("t", json!({"b": {"d": 3, "c": 2}, "a": 1})));
        assert_ne!(one, hash("t", json!({"a": 1, "b": {"c": 2, "d": 4}})));
        assert_ne!(one, hash("u", json!({"a": 1, "b": {"c": 2, "d": 3}})));
        assert_ne!(hash("t{}", json!({})), hash("t", json!({})));
    }

    #[test]
    fn a_default_id_is_the_hash_of_the_text() {
        assert_eq!(default_doc_id("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}

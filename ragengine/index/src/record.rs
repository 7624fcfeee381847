//! What the store holds, as Rust types. Postcard writes them in the order of their fields: a change is a new format.

use ragengine_client::wire::{ChunkingSettings, IndexSettings, Metadata};
use ragengine_json::Bounds;
use ragengine_settings::VectorIndexKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Metadata of earlier versions had no other bound than `limits.maxMetadataBytes`, and is still read: whatever fits into what that is by
/// default, and of what is longer so many values.
const SHORT_METADATA_BYTES: usize = 16 << 10;
const MAX_COPIED_METADATA_VALUES: usize = 10_000;

/// The longest metadata that a copy may bring.
const MAX_COPIED_METADATA_BYTES: usize = 1 << 20;

/// As deep as JSON is read at all.
const MAX_METADATA_DEPTH: usize = 128;

/// How an index was made. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRecord {
    /// The embedding model's name, for people.
    pub model: String,
    /// Everything about the embedding model that its vectors depend on.
    pub embedding_fingerprint: String,
    /// The width of its vectors.
    pub dimensions: usize,
    /// The longest chunk in tokens.
    pub max_tokens: u32,
    /// How many tokens of a chunk are repeated in the next.
    pub overlap_tokens: u32,
    /// How vectors are kept for search.
    pub vector_index: VectorIndexKind,
}

impl IndexRecord {
    /// What the vectors depend on: the embedding model and the chunking.
    pub fn fingerprint(&self) -> String {
        let parts = format!("{}\n{}\n{}", self.embedding_fingerprint, self.max_tokens, self.overlap_tokens);
        hex::encode(&Sha256::digest(parts.as_bytes())[..16])
    }

    /// What a user may set of it.
    pub fn settings(&self) -> IndexSettings {
        IndexSettings {
            chunking: ChunkingSettings { max_tokens: Some(self.max_tokens), overlap_tokens: Some(self.overlap_tokens) },
            vector_index: Some(self.vector_index.to_string()),
        }
    }

    /// Whether vectors of the two may meet.
    pub fn has_vectors_of(&self, other: &Self) -> bool {
        self.embedding_fingerprint == other.embedding_fingerprint && self.dimensions == other.dimensions
    }
}

#[cfg(test)]
impl IndexRecord {
    /// That of a small flat index, for tests.
    pub fn of_two_dimensions() -> Self {
        Self {
            model: "m".into(),
            embedding_fingerprint: "f".into(),
            dimensions: 2,
            max_tokens: 100,
            overlap_tokens: 10,
            vector_index: VectorIndexKind::Flat,
        }
    }
}

/// A document, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentRecord {
    /// Its id, as the user knows it.
    pub doc_id: String,
    /// Its metadata, as JSON.
    pub metadata: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// The hash over its text and metadata.
    pub content_hash: String,
    /// The row of its first chunk. The others follow it.
    pub first_row: u64,
    /// How many chunks it has.
    pub chunks: u32,
    /// The size of its text.
    pub text_bytes: u64,
}

impl DocumentRecord {
    /// Its metadata as a JSON object. It was checked before it was stored.
    pub fn metadata(&self) -> Metadata {
        self.metadata_within(usize::MAX).unwrap_or_default()
    }

    /// Refuses metadata of a copy that would take too much whenever it is shown: anybody may have written it.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn check_copied_metadata(&self) -> Result<(), String> {
        let bytes = self.metadata.len();
        if bytes > MAX_COPIED_METADATA_BYTES {
            return Err(format!("has {bytes} bytes, which is more than {MAX_COPIED_METADATA_BYTES}"));
        }
        let max_values = if bytes <= SHORT_METADATA_BYTES { usize::MAX } else { MAX_COPIED_METADATA_VALUES };
        self.metadata_within(max_values).map(drop).map_err(|error| error.to_string())
    }

    fn metadata_within(&self, max_values: usize) -> Result<Metadata, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(&self.metadata);
        let metadata = Bounds { max_values, max_depth: MAX_METADATA_DEPTH }.object(&mut json)?;
        json.end()?;
        Ok(metadata)
    }

    /// The rows of its chunks.
    pub fn rows(&self) -> std::ops::Range<u64> {
        self.first_row..self.first_row + u64::from(self.chunks)
    }
}

/// A chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRecord {
    /// The number of its document.
    pub document: u64,
    /// Its place in the document, from 0.
    pub ordinal: u32,
    /// The headings above it.
    pub heading: Option<String>,
    /// Its text.
    pub text: String,
    /// The hash of what was embedded: the heading and the text.
    pub hash: [u8; 32],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(metadata: String) -> DocumentRecord {
        DocumentRecord {
            doc_id: "d".to_owned(),
            metadata,
            source: None,
            content_hash: String::new(),
            first_row: 0,
            chunks: 0,
            text_bytes: 0,
        }
    }

    #[test]
    fn what_a_copy_says_of_a_document_has_bounds() {
        let list = |item: &str, count: usize| format!(r#"{{"x":[{}]}}"#, vec![item; count].join(","));
        let deep = |depth: usize| format!(r#"{{"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        for (metadata, wrong) in [
            (r#"{"a":[1,{"b":null}]}"#.to_owned(), None),
            // As much as earlier versions took by default.
            (list("{}", 5_000), None),
            (list("0", 8_000), None),
            (list("\"some words\"", 9_000), None),
            (list("1234567", 10_001), Some("more than 10000 values")),
            (list("{}", 6_000), Some("more than 10000 values")),
            (deep(100), None),
            (deep(200), Some("recursion limit")),
            (list(&format!("{:?}", "x".repeat(1 << 20)), 1), Some("which is more than 1048576")),
            ("[]".to_owned(), Some("must be an object")),
            (r#"{"a":1}x"#.to_owned(), Some("trailing characters")),
            (r#"{"a":"#.to_owned(), Some("EOF")),
        ] {
            let said = document(metadata).check_copied_metadata();
            match (&said, wrong) {
                (Ok(()), None) => {}
                (Err(said), Some(wrong)) if said.contains(wrong) => {}
                _ => panic!("{said:?}, and not {wrong:?}"),
            }
        }
    }

    /// The parser's own values would take the text for JSON, and build what is in it.
    #[test]
    fn a_text_in_metadata_stays_a_text() {
        let metadata = r#"{"a":{"$serde_json::private::RawValue":"[0,0,0]"}}"#;
        assert_eq!(serde_json::Value::from(document(metadata.to_owned()).metadata()).to_string(), metadata);
    }
}

//! The records in the store. Postcard encodes their fields in order, so a change is a new format.

use ragengine_client::wire::{ChunkingSettings, IndexSettings, Metadata};
use ragengine_json::{Bounds, RepeatedKeys};
use ragengine_settings::VectorIndexKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Metadata from earlier versions was bounded only by `limits.maxMetadataBytes`. Metadata up to that limit's default is
/// still accepted with any number of values, and longer metadata with a bounded number.
const SHORT_METADATA_BYTES: usize = 16 << 10;
const MAX_COPIED_METADATA_VALUES: usize = 10_000;

/// The longest metadata of a document in a copy, in bytes.
const MAX_COPIED_METADATA_BYTES: usize = 1 << 20;

/// The recursion limit of the JSON parser.
const MAX_METADATA_DEPTH: usize = 128;

/// The settings with which an index was made. They never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRecord {
    /// The embedding model's display name.
    pub model: String,
    /// A hash of everything that affects the embedding model's vectors.
    pub embedding_fingerprint: String,
    /// The number of values in a vector.
    pub dimensions: usize,
    /// The most tokens of a chunk.
    pub max_tokens: u32,
    /// The overlap between chunks, in tokens.
    pub overlap_tokens: u32,
    /// The kind of vector index.
    pub vector_index: VectorIndexKind,
}

impl IndexRecord {
    /// A hash of what affects the vectors: the embedding model and the chunking.
    pub fn fingerprint(&self) -> String {
        let parts = format!("{}\n{}\n{}", self.embedding_fingerprint, self.max_tokens, self.overlap_tokens);
        hex::encode(&Sha256::digest(parts.as_bytes())[..16])
    }

    /// The settings that a user can change.
    pub fn settings(&self) -> IndexSettings {
        IndexSettings {
            chunking: ChunkingSettings { max_tokens: Some(self.max_tokens), overlap_tokens: Some(self.overlap_tokens) },
            vector_index: Some(self.vector_index.to_string()),
        }
    }

    /// Whether the vectors of both indexes can be compared.
    pub fn has_vectors_of(&self, other: &Self) -> bool {
        self.embedding_fingerprint == other.embedding_fingerprint && self.dimensions == other.dimensions
    }
}

#[cfg(test)]
impl IndexRecord {
    /// The record of a small flat index, for tests.
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
    /// The document's id.
    pub doc_id: String,
    /// The metadata, as JSON.
    pub metadata: String,
    /// The name of the source it comes from.
    pub source: Option<String>,
    /// The hash of its text and metadata.
    pub content_hash: String,
    /// The row of its first chunk. The other chunks follow it.
    pub first_row: u64,
    /// The number of its chunks.
    pub chunks: u32,
    /// The size of its text, in bytes.
    pub text_bytes: u64,
}

impl DocumentRecord {
    /// The metadata as a JSON object. It was validated before it was stored.
    pub fn metadata(&self) -> Metadata {
        self.metadata_within(usize::MAX).unwrap_or_default()
    }

    /// Checks the metadata of a document in a copy. It is untrusted, and excessive metadata would make every read
    /// expensive.
    ///
    /// # Errors
    ///
    /// A description of the problem.
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
        let metadata = Bounds { max_values, max_depth: MAX_METADATA_DEPTH, repeated_keys: RepeatedKeys::Last }
            .object(&mut json)?;
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
    /// Its position in the document, from 0.
    pub ordinal: u32,
    /// The headings above it, joined by ` > `.
    pub heading: Option<String>,
    /// Its text.
    pub text: String,
    /// The hash of the embedded text: the heading and the text.
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
    fn metadata_in_a_copy_is_bounded() {
        let list = |item: &str, count: usize| format!(r#"{{"x":[{}]}}"#, vec![item; count].join(","));
        let deep = |depth: usize| format!(r#"{{"x":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        for (metadata, wrong) in [
            (r#"{"a":[1,{"b":null}]}"#.to_owned(), None),
            // As much as earlier versions accepted by default.
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
                _ => panic!("{said:?} instead of {wrong:?}"),
            }
        }
    }

    /// With serde_json's own `Value`, this text would be parsed as JSON.
    #[test]
    fn a_text_in_metadata_stays_a_text() {
        let metadata = r#"{"a":{"$serde_json::private::RawValue":"[0,0,0]"}}"#;
        assert_eq!(serde_json::Value::from(document(metadata.to_owned()).metadata()).to_string(), metadata);
    }
}

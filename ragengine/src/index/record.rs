//! What the store holds, as Rust types. Postcard writes them in the order of their fields: a change is a new format.

use ragengine_client::wire::{ChunkingSettings, IndexSettings, Metadata};
use ragengine_settings::VectorIndexKind;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

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
    /// Its metadata as a JSON object.
    pub fn metadata(&self) -> Metadata {
        serde_json::from_str(&self.metadata).unwrap_or_default()
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

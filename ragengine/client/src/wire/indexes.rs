use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Settings of an index. A field that is not set uses the server's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexSettings {
    /// How documents are split into chunks.
    #[serde(default)]
    pub chunking: ChunkingSettings,
    /// The type of the vector index: `auto`, `Flat`, `SQ8`, `HNSW<M>` or `HNSW<M>_SQ8` with M from 4 to 64, or
    /// `IVF<N>,Flat` with N from 4 to 16384.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "HNSW32")]
    pub vector_index: Option<String>,
}

/// How documents are split into chunks. Sizes are in tokens of the embedding model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChunkingSettings {
    /// Maximum chunk size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Overlap between consecutive chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_tokens: Option<u32>,
}

/// An index of documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexDescription {
    /// The name of the index.
    pub name: String,
    /// Number of documents.
    pub documents: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Total size of the documents' texts in bytes.
    pub bytes: u64,
    /// Number of chunks in the structure that `vectorIndex` names. The others are searched exhaustively until it is
    /// built.
    pub graph_chunks: u64,
    /// The current type of the vector index, for example the one that `auto` has chosen.
    #[serde(default)]
    #[schema(example = "HNSW32")]
    pub vector_index: String,
    /// The settings of the index.
    pub settings: IndexSettings,
    /// Identifies the embedding model and the chunking. Vectors with different fingerprints are never mixed.
    pub fingerprint: String,
    /// The name of the embedding model.
    pub model: String,
    /// The id of the data folder. It changes if the folder is emptied or replaced.
    pub data_id: String,
    /// The generation with other settings or another embedding model that will replace this index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_generation: Option<NextGeneration>,
}

/// A generation that will replace an index. The index serves requests until then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextGeneration {
    /// The phase of the generation.
    pub phase: GenerationPhase,
    /// Identifies the embedding model and the chunking.
    pub fingerprint: String,
    /// The name of the embedding model.
    pub model: String,
    /// The settings of the generation.
    pub settings: IndexSettings,
    /// Number of documents so far.
    pub documents: u64,
    /// Expected number of documents.
    pub total: u64,
    /// Start time (RFC 3339).
    pub started_at: String,
    /// The error that delays the build, which is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The phase of the next generation of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GenerationPhase {
    /// The generation is being built.
    Building,
    /// The build was cancelled. It restarts when a client requests this or another generation.
    Abandoned,
}

/// The result of restoring a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestoredIndexes {
    /// The names of the restored indexes, in the order of the backup.
    pub indexes: Vec<String>,
}

/// A page of the documents of one source, with their content hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceDocuments {
    /// The documents of this page, in the order in which they were added.
    pub documents: Vec<SourceDocument>,
    /// Total number of documents of the source.
    pub total_items: usize,
}

/// A document of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceDocument {
    /// The id of the document.
    pub doc_id: String,
    /// The SHA-256 of its text and metadata.
    pub content_hash: String,
    /// The revision of the document in its source, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

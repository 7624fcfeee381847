use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How an index is made. What is not said is the server's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexSettings {
    /// How documents are cut.
    #[serde(default)]
    pub chunking: ChunkingSettings,
    /// How vectors are kept: `auto`, `Flat`, `SQ8`, `HNSW<M>` or `HNSW<M>_SQ8`, M from 4 to 64, or `IVF<N>,Flat`, N from 4 to 16384.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "HNSW32")]
    pub vector_index: Option<String>,
}

/// How documents are cut, in tokens of the embedding model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChunkingSettings {
    /// The longest chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How much of a chunk is repeated in the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_tokens: Option<u32>,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IndexDescription {
    /// Its name.
    pub name: String,
    /// How many documents it holds.
    pub documents: u64,
    /// How many chunks they were cut into.
    pub chunks: u64,
    /// The size of the documents' texts in bytes.
    pub bytes: u64,
    /// How many chunks are in the structure that `vectorIndex` names. The others are searched one by one until it is built.
    pub graph_chunks: u64,
    /// The kind of the structure that most chunks are in now: what `auto` has chosen, for example.
    #[serde(default)]
    #[schema(example = "HNSW32")]
    pub vector_index: String,
    /// How it was made.
    pub settings: IndexSettings,
    /// What its vectors were made with: the embedding model and the chunking. Vectors of different ones never meet.
    pub fingerprint: String,
    /// The embedding model.
    pub model: String,
    /// The id of the data folder. Another one means that the folder was emptied or replaced.
    pub data_id: String,
    /// The generation with other settings, or another embedding model, that is to take its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_generation: Option<NextGeneration>,
}

/// What is to take the place of an index, which serves until then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NextGeneration {
    /// What becomes of it.
    pub phase: GenerationPhase,
    /// What its vectors are made with.
    pub fingerprint: String,
    /// Its embedding model.
    pub model: String,
    /// How it is made.
    pub settings: IndexSettings,
    /// How many documents it has so far.
    pub documents: u64,
    /// How many it is to have, as far as is known.
    pub total: u64,
    /// When it was begun (RFC 3339).
    pub started_at: String,
    /// Why it does not get on. It is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What becomes of the next generation of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GenerationPhase {
    /// It is being built.
    Building,
    /// Somebody has given it up: it is built when somebody asks for it, or for another.
    Abandoned,
}

/// What a backup was restored to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestoredIndexes {
    /// The names of the indexes that were made, in the order of the backup.
    pub indexes: Vec<String>,
}

/// Documents of one source, by content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceDocuments {
    /// The documents of this page, in the order in which they were added.
    pub documents: Vec<SourceDocument>,
    /// How many there are in all.
    pub total_items: usize,
}

/// A document of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceDocument {
    /// Its id.
    pub doc_id: String,
    /// The SHA-256 over its text and metadata.
    pub content_hash: String,
    /// What its source calls this state of it, when that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

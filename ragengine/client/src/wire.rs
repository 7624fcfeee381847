//! The bodies of requests and replies. Those of `/v1` have additional fields, defined by OpenAI's API.

mod chat;
mod chat_service;
mod context;
mod documents;
mod engine_status;
mod explanation;
mod feedback;
mod indexes;
mod query;
mod retrieve;
pub mod sources;
mod status;

pub use chat::{ChatCompletion, ChatCompletionRequest, ChatMode, OpenAiError, OpenAiErrorDetail};
pub use chat_service::{ChatReply, ChatRequest, Citation, SearchReply, SearchRequest};
pub use context::{AssessContext, ContextAssessment};
pub use documents::{
    AddDocuments, ChunkPlace, DeleteDocuments, DeletedDocuments, Document, DocumentList, ListDocuments, ListedDocument,
    StoredDocument, UpdateDocuments, UpdatedDocuments, WholeDocument,
};
pub use engine_status::{EngineStatus, GrowingGeneration, OwnedSources, Problem, ProblemKind};
pub use explanation::{ContextTokens, ExplainedChunk, ExplainedEvidence, ExplainedStage, Explanation};
pub use feedback::{ListVotes, ListedVote, PurgeCache, Rating, Success, Vote, VoteList};
pub use indexes::{
    ChunkingSettings, GenerationPhase, IndexDescription, IndexSettings, NextGeneration, RestoredIndexes,
    SourceDocument, SourceDocuments,
};
pub use query::{ChatHistory, ClearChat, ClearedChat, HistoryMessage, QueryReply, QueryRequest, QuerySource};
pub use retrieve::{
    Condensing, ContextFormat, Diversity, PipelineStages, Reranking, RetrievalMode, Retrieve, RetrieveExplanation,
    RetrieveStages, Retrieved, RetrievedNode, RetrievedSource, SourceNode, Threshold,
};
pub use sources::{
    DeletedSource, FileError, ListSources, PutSourceSync, SourceDescription, SourceOwner, SourceSync, SyncPhase,
    WhenOwnerIsGone,
};
pub use status::{Check, ErrorDetail, FieldError, Health, Message, Readiness};

use ragengine_json::{Bounds, RepeatedKeys};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The metadata of a document: any JSON object.
pub type Metadata = Map<String, Value>;

/// Limits on the metadata of one document.
pub const METADATA: Bounds = Bounds { max_values: 1_000, max_depth: 8, repeated_keys: RepeatedKeys::Last };

/// Maximum number of documents or document ids in one request. No setting can raise it.
pub const MAX_ITEMS: usize = 100_000;

/// Deserializes metadata within [`METADATA`]. Null counts as empty, because some clients send null for every unset
/// field.
fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    METADATA.object(deserializer)
}

/// Deserializes a metadata filter within [`Bounds::METADATA_FILTER`]. Null and an empty object differ.
fn metadata_filter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Metadata>, D::Error> {
    #[derive(Deserialize)]
    struct Bounded(#[serde(deserialize_with = "filter")] Metadata);
    fn filter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
        Bounds::METADATA_FILTER.object(deserializer)
    }
    Ok(Option::<Bounded>::deserialize(deserializer)?.map(|bounded| bounded.0))
}

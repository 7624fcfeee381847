//! The bodies of requests and replies. Those of `/v1` have more than is named here: what OpenAI has.

mod chat;
mod documents;
mod engine_status;
mod explanation;
mod indexes;
mod retrieve;
pub mod sources;
mod status;

pub use chat::{ChatCompletion, ChatCompletionRequest, OpenAiError, OpenAiErrorDetail};
pub use documents::{
    AddDocuments, DeleteDocuments, DeletedDocuments, Document, DocumentList, ListDocuments, ListedDocument,
    StoredDocument, UpdateDocuments, UpdatedDocuments,
};
pub use engine_status::{EngineStatus, GrowingGeneration, OwnedSources, Problem, ProblemKind};
pub use explanation::{ContextTokens, ExplainedChunk, Explanation};
pub use indexes::{
    ChunkingSettings, GenerationPhase, IndexDescription, IndexSettings, NextGeneration, RestoredIndexes,
    SourceDocument, SourceDocuments,
};
pub use retrieve::{Retrieve, Retrieved, RetrievedNode, RetrievedSource, SourceNode};
pub use sources::{
    DeletedSource, FileError, ListSources, PutSourceSync, SourceDescription, SourceOwner, SourceSync, SyncPhase,
    WhenOwnerIsGone,
};
pub use status::{Check, ErrorDetail, FieldError, Health, Message, Readiness};

use ragengine_json::Bounds;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// What a user says about a document: any JSON object.
pub type Metadata = Map<String, Value>;

/// Bounds on the metadata of one document, and on a filter.
pub const METADATA: Bounds = Bounds { max_values: 1_000, max_depth: 8 };

/// Documents, or ids of documents, that are read of a request: no setting allows more.
pub const MAX_ITEMS: usize = 100_000;

/// Metadata within its bounds. Clients that write out every field send null for what they do not set.
fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
    METADATA.object(deserializer)
}

/// The same where null says something else than nothing.
fn optional_metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Metadata>, D::Error> {
    #[derive(Deserialize)]
    struct Bounded(#[serde(deserialize_with = "metadata")] Metadata);
    Ok(Option::<Bounded>::deserialize(deserializer)?.map(|bounded| bounded.0))
}

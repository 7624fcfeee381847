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
pub use engine_status::{EngineStatus, GrowingGeneration, Problem, ProblemKind};
pub use explanation::{ContextTokens, ExplainedChunk, Explanation};
pub use indexes::{
    ChunkingSettings, GenerationPhase, IndexDescription, IndexSettings, NextGeneration, RestoredIndexes,
    SourceDocument, SourceDocuments,
};
pub use retrieve::{Retrieve, Retrieved, RetrievedNode, RetrievedSource, SourceNode};
pub use sources::{DeletedSource, FileError, PutSourceSync, SourceDescription, SourceSync, SyncPhase};
pub use status::{Check, ErrorDetail, FieldError, Health, Message, Readiness};

use serde_json::{Map, Value};

/// What a user says about a document: any JSON object.
pub type Metadata = Map<String, Value>;

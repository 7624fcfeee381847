//! The server's settings: one typed tree, read from one YAML file.
//!
//! The file is written by a person, or rendered into a ConfigMap by the operator, and read by the server. This crate
//! depends on neither program, so that both can depend on it.

pub mod backup;
mod environment;
mod listening;
mod load;
mod reference;
mod secret;
mod settings;
mod site;
pub mod sync;
mod text_language;
mod validate;
mod vector_index;

pub use environment::{ENVIRONMENT, EnvironmentOverride};
pub use listening::without_ipv6;
pub use load::{SettingsError, from_yaml};
pub use ragengine_pipeline::request::{
    Condensing, ContextFormat, Diversity, HistoryFormat, Reranking, RetrievalMode, Threshold,
};
pub use reference::markdown_reference;
pub use secret::SecretReference;
pub use settings::{
    AccessRules, Audit, Auth, AuthMode, BackupBucket, BackupPlace, Bootstrap, Cache, Chat, ChatEndpoint, Chunking,
    Citations, CompletionsEndpoint, Cors, Embedding, EmbeddingSource, Endpoints, Events, Feedback, FilterRule,
    Guardrails, InferenceService, Interactions, JwtIssuer, Limits, LocalEmbedding, LocalReranker, Log, LogFormat,
    NamedThreshold, OverlapThreshold, Pooling, Postgres, QueryEndpoint, Redis, RemoteEmbedding, Rerank, RerankBackend,
    RestoreFrom, Retrieval, RetrieveEndpoint, Rewrite, Search, SessionStore, SessionToken, Sessions, Settings,
    StateStore, Tls, Tracing, VectorDatabase, VectorEngine, WhenDown,
};
pub use site::{Authority, Origin};
pub use text_language::TextLanguage;
pub use validate::{Invalid, validate};
pub use vector_index::{ParseVectorIndexError, VectorIndexKind};

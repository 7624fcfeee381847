mod audit;
mod auth;
mod bootstrap;
mod cache;
mod chat;
mod chunking;
mod citations;
mod cors;
mod embedding;
mod endpoints;
mod events;
mod feedback;
mod guardrails;
mod inference_service;
mod interactions;
mod limits;
mod log;
mod postgres;
mod redis;
mod rerank;
mod retrieval;
mod rewrite;
mod search;
mod sessions;
mod state_store;
mod tls;
mod tracing;
mod vector_database;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::VectorIndexKind;

pub use audit::Audit;
pub use auth::{AccessRules, Auth, AuthMode, JwtIssuer, SessionToken};
pub use bootstrap::{BackupBucket, BackupPlace, Bootstrap, RestoreFrom};
pub use cache::Cache;
pub use chat::Chat;
pub use chunking::Chunking;
pub use citations::Citations;
pub use cors::Cors;
pub use embedding::{Embedding, EmbeddingSource, LocalEmbedding, Pooling, RemoteEmbedding};
pub use endpoints::{ChatEndpoint, CompletionsEndpoint, Endpoints, QueryEndpoint, RetrieveEndpoint};
pub use events::Events;
pub use feedback::Feedback;
pub use guardrails::Guardrails;
pub use inference_service::InferenceService;
pub use interactions::{Interactions, NamedThreshold, OverlapThreshold};
pub use limits::Limits;
pub use log::{Log, LogFormat};
pub use postgres::Postgres;
pub use redis::Redis;
pub use rerank::{LocalReranker, Rerank, RerankBackend};
pub use retrieval::{FilterRule, Retrieval};
pub use rewrite::Rewrite;
pub use search::Search;
pub use sessions::{SessionStore, Sessions, WhenDown};
pub use state_store::StateStore;
pub use tls::Tls;
pub use tracing::Tracing;
pub use vector_database::{VectorDatabase, VectorEngine};

/// All settings. Every field has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// The address and port that the server listens on. `[::]` is all addresses, also those of IPv4.
    pub listen: SocketAddr,
    /// The address and port of a separate listener for `/livez`, `/readyz`, `/health`, `/status` and `/metrics`. Probes
    /// and monitors can connect to it even when `listen`, which has the same routes, is overloaded. Not set: no
    /// separate listener.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_listen: Option<SocketAddr>,
    /// TLS on `listen`.
    pub tls: Tls,
    /// Host names that clients may use, without ports. If `listen` is a loopback address, a request whose `Host` is
    /// another name gets a 421, which protects against DNS rebinding; `localhost`, its subdomains and loopback
    /// addresses are always allowed. If `listen` is another address, an empty list allows every name; otherwise only
    /// these names and IP addresses are allowed. The same applies to `adminListen`.
    pub allowed_hosts: Vec<String>,
    /// Access from browsers to pages of other sites (CORS).
    pub cors: Cors,
    /// The folder that holds the indexes and, below `models`, embedding models. The server creates it if it is missing.
    /// Only one server may use it at a time.
    pub data_dir: PathBuf,
    /// How a server with an empty data folder begins.
    pub bootstrap: Bootstrap,
    /// The name of this server in a database that several servers use. Each needs another one. 1 to 317 bytes.
    pub state_namespace: String,
    /// The index of `/query` for requests that name none. Not set: the only index that the caller may read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_index: Option<String>,
    /// The database of the stores that use PostgreSQL.
    pub postgres: Postgres,
    /// The server of the stores that use Redis.
    pub redis: Redis,
    /// What keeps and searches documents, chunks and vectors.
    #[serde(rename = "vectorDB")]
    pub vector_db: VectorDatabase,
    /// The embedding model.
    pub embedding: Embedding,
    /// The language model. Without a `url`, the built-in model `extractive` answers.
    pub inference_service: InferenceService,
    /// Whether the built-in model `extractive`, which quotes the nearest sentences of the documents, answers if
    /// `inferenceService.url` is not set. If `false`, chat requests get a 503.
    pub extractive: bool,
    /// How chats are answered.
    pub chat: Chat,
    /// How a chat retrieves chunks from an index.
    pub retrieval: Retrieval,
    /// How a question is rewritten before it is searched for.
    pub rewrite: Rewrite,
    /// How the best chunks are put in order by a model.
    pub rerank: Rerank,
    /// The conversations of `/query`.
    pub sessions: Sessions,
    /// Votes on answers.
    pub feedback: Feedback,
    /// Earlier questions and their answers, as context for similar questions.
    pub interactions: Interactions,
    /// Answers that are given again.
    pub cache: Cache,
    /// The citations of answers.
    pub citations: Citations,
    /// Checks of answers.
    pub guardrails: Guardrails,
    /// Events about questions and answers.
    pub events: Events,
    /// Which stages of the pipeline each endpoint has.
    pub endpoints: Endpoints,
    /// How new indexes split documents into chunks.
    pub chunking: Chunking,
    /// The type of the vector index of new indexes: `auto`, `Flat`, `SQ8`, `HNSW<M>` or `HNSW<M>_SQ8` with M from 4 to
    /// 64, or `IVF<N>,Flat` with N from 4 to 16384.
    pub vector_index: VectorIndexKind,
    /// How indexes are searched.
    pub search: Search,
    /// Who may use the server.
    pub auth: Auth,
    /// The record of who did what.
    pub audit: Audit,
    /// Limits on requests.
    pub limits: Limits,
    /// The server's log, on standard error.
    pub log: Log,
    /// Traces of requests.
    pub tracing: Tracing,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 5000)),
            admin_listen: None,
            tls: Tls::default(),
            allowed_hosts: Vec::new(),
            cors: Cors::default(),
            data_dir: PathBuf::from("data"),
            bootstrap: Bootstrap::default(),
            state_namespace: "default".to_owned(),
            default_index: None,
            postgres: Postgres::default(),
            redis: Redis::default(),
            vector_db: VectorDatabase::default(),
            embedding: Embedding::default(),
            inference_service: InferenceService::default(),
            extractive: true,
            chat: Chat::default(),
            retrieval: Retrieval::default(),
            rewrite: Rewrite::default(),
            rerank: Rerank::default(),
            sessions: Sessions::default(),
            feedback: Feedback::default(),
            interactions: Interactions::default(),
            cache: Cache::default(),
            citations: Citations::default(),
            guardrails: Guardrails::default(),
            events: Events::default(),
            endpoints: Endpoints::default(),
            chunking: Chunking::default(),
            vector_index: VectorIndexKind::default(),
            search: Search::default(),
            auth: Auth::default(),
            audit: Audit::default(),
            limits: Limits::default(),
            log: Log::default(),
            tracing: Tracing::default(),
        }
    }
}

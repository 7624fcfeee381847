mod auth;
mod chat;
mod chunking;
mod cors;
mod embedding;
mod inference_service;
mod limits;
mod log;
mod retrieval;
mod search;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::VectorIndexKind;

pub use auth::Auth;
pub use chat::Chat;
pub use chunking::Chunking;
pub use cors::Cors;
pub use embedding::{Embedding, EmbeddingSource, LocalEmbedding, Pooling, RemoteEmbedding};
pub use inference_service::InferenceService;
pub use limits::Limits;
pub use log::{Log, LogFormat};
pub use retrieval::Retrieval;
pub use search::Search;

/// Everything that can be set. With no file at all the defaults serve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// The address and port that the server listens on.
    pub listen: SocketAddr,
    /// The address and port of a listener of its own for `/livez`, `/readyz`, `/health`, `/status` and `/metrics`: probes and monitors get in there whatever happens at `listen`, which has the same routes. Not set: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_listen: Option<SocketAddr>,
    /// Names that the server may be called by, without ports. Where `listen` is a loopback address, a request whose `Host` is another name is a 421, so that no web page reaches the server under a name of its own (DNS rebinding); `localhost`, names below it and loopback addresses always pass. Elsewhere any name passes as long as this is empty, and then these and addresses do. The same goes for `adminListen`.
    pub allowed_hosts: Vec<String>,
    /// Which pages of other sites may use the server from a browser.
    pub cors: Cors,
    /// The folder that holds the indexes and, below `models`, embedding models. It is made when it is missing. One server uses it at a time.
    pub data_dir: PathBuf,
    /// Which model turns text into vectors.
    pub embedding: Embedding,
    /// The language model that answers. Without a `url` the built-in model `extractive` does.
    pub inference_service: InferenceService,
    /// Whether the built-in model `extractive` (it quotes the nearest sentences of the documents) answers when `inferenceService.url` is not set. When it does not, chat is a 503.
    pub extractive: bool,
    /// How chats are answered.
    pub chat: Chat,
    /// What a chat takes from an index.
    pub retrieval: Retrieval,
    /// How documents are cut in new indexes.
    pub chunking: Chunking,
    /// How new indexes keep their vectors: `auto`, `Flat`, `SQ8`, `HNSW<M>` or `HNSW<M>_SQ8`, M from 4 to 64, or `IVF<N>,Flat`, N from 4 to 16384.
    pub vector_index: VectorIndexKind,
    /// How indexes are searched.
    pub search: Search,
    /// Who may write.
    pub auth: Auth,
    /// Bounds on what a request may ask for.
    pub limits: Limits,
    /// The server's log, on standard error.
    pub log: Log,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 5000)),
            admin_listen: None,
            allowed_hosts: Vec::new(),
            cors: Cors::default(),
            data_dir: PathBuf::from("data"),
            embedding: Embedding::default(),
            inference_service: InferenceService::default(),
            extractive: true,
            chat: Chat::default(),
            retrieval: Retrieval::default(),
            chunking: Chunking::default(),
            vector_index: VectorIndexKind::default(),
            search: Search::default(),
            auth: Auth::default(),
            limits: Limits::default(),
            log: Log::default(),
        }
    }
}

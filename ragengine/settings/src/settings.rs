mod auth;
mod cors;
mod embedding;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

pub use auth::Auth;
pub use cors::Cors;
pub use embedding::{Embedding, EmbeddingSource, LocalEmbedding, Pooling, RemoteEmbedding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SecretReference, VectorIndexKind};

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

/// An OpenAI-compatible chat endpoint: OpenAI, vLLM, Ollama, llama.cpp, OpenRouter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InferenceService {
    /// Its address. One that ends in `/chat/completions` is used as it is, to one that ends in `/v1` the rest is added, and to a bare host `/v1/chat/completions`; one that ends in `/completions` means the `/chat/completions` beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The model for requests that name none. Not set: the first that the endpoint lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The models that callers may ask for, besides `model`; any other is a 400 that lists them, and `/v1/models` shows no other. Empty: any. Without `model`, requests that name none get the first of these that the endpoint lists.
    pub models: Vec<String>,
    /// The key that is sent as a bearer token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretReference>,
    /// The model's context window in tokens. Not set: read from the endpoint, and 4,096 where it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window_size: Option<u32>,
    /// A folder with the model's `tokenizer.json` and, for its chat template, `tokenizer_config.json` or `chat_template.jinja`, as they are in its repository on the hub: prompts are then counted exactly. Not set: OpenAI's models are counted with their own encodings, all others are estimated at three bytes a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<PathBuf>,
    /// How long an answer may take, in seconds: the whole of it, or the time between two pieces of a stream.
    pub timeout_seconds: u64,
    /// How long connecting may take, in seconds.
    pub connect_timeout_seconds: u64,
    /// Chats that the endpoint is asked at a time, streams included; more of them wait.
    pub max_concurrent_requests: u32,
    /// How many more chats may wait for their turn; one more is a 429 with `Retry-After`.
    pub max_waiting_requests: u32,
    /// How long a chat may wait for its turn, in seconds; it is a 429 with `Retry-After` then.
    pub queue_timeout_seconds: u64,
    /// Connections that are kept open for reuse.
    pub max_idle_connections: u32,
    /// How long a connection is kept open without use, in seconds. Shorter than the endpoint's own limit.
    pub idle_timeout_seconds: u64,
    /// The largest answer that is not a stream, in bytes.
    pub max_reply_bytes: u64,
    /// How often the endpoint is asked whether it is there, by its list of models, in seconds. 0: never.
    pub probe_seconds: u64,
}

impl Default for InferenceService {
    fn default() -> Self {
        Self {
            url: None,
            model: None,
            models: Vec::new(),
            api_key: None,
            context_window_size: None,
            timeout_seconds: 300,
            connect_timeout_seconds: 10,
            tokenizer: None,
            max_concurrent_requests: 1024,
            max_waiting_requests: 1024,
            queue_timeout_seconds: 60,
            max_idle_connections: 256,
            idle_timeout_seconds: 30,
            max_reply_bytes: 64 << 20,
            probe_seconds: 30,
        }
    }
}

/// How chats are answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Chat {
    /// Whether a request may ask with `explain: true` what was decided about every chunk, and why. The reply then shows ids, distances and tokens, never texts.
    pub explain: bool,
    /// After so many seconds without an event a stream gets a comment, so that nothing in between takes it for dead. A stream whose language model has not begun by then begins without it; an error is then its last event.
    pub keep_alive_seconds: u64,
}

impl Default for Chat {
    fn default() -> Self {
        Self { explain: true, keep_alive_seconds: 15 }
    }
}

/// What a chat takes from an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retrieval {
    /// Chunks farther than this from the question are not used: a squared L2 distance of normalised vectors, 0 (the same) to 4. What it means depends on the embedding model.
    pub max_distance: f32,
    /// The part of the tokens left that context may take when a request does not say: 0.2 to 0.8.
    pub context_token_ratio: f64,
    /// Chunks looked at by a chat, at least.
    #[serde(rename = "minTopK")]
    pub min_top_k: u32,
    /// Tokens that a chunk is taken to have, in the reckoning of how many are looked at.
    pub tokens_per_chunk: u32,
    /// Windows that a question is cut into at most, when it is longer than the embedding model reads at once: each is embedded and searched with. A longer question is a 400.
    pub max_question_windows: u32,
}

impl Default for Retrieval {
    fn default() -> Self {
        Self {
            max_distance: 0.85,
            context_token_ratio: 0.5,
            min_top_k: 100,
            tokens_per_chunk: 500,
            max_question_windows: 64,
        }
    }
}

/// How documents are cut. Sizes are in tokens of the embedding model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Chunking {
    /// The longest chunk, its heading included. Not set: 512, or the model's limit when that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// How much of a chunk is repeated at the start of the next. Not set: a tenth of the longest chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_tokens: Option<u32>,
}

/// How indexes are searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Search {
    /// Below this many chunks every search is exact, whatever `vectorIndex` says.
    pub exact_below_rows: u32,
    /// How many nodes of a graph a search keeps in view: more is slower and finds more.
    pub ef_search: u32,
    /// How many lists of an `IVF<N>,Flat` a search compares: more is slower and finds more. Not set: three times the square root of their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_probe: Option<u32>,
    /// Threads that search. 0: one for each core.
    pub threads: u32,
}

impl Default for Search {
    fn default() -> Self {
        Self { exact_below_rows: 10_000, ef_search: 128, n_probe: None, threads: 0 }
    }
}

/// Bounds on what a request may ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// Connections at a time. For one more the one is closed that has been idle longest without a request; while none is idle, more wait.
    pub max_connections: u32,
    /// Connections of one address at a time (of IPv6, of one /64 network); one more is closed. 0: as many as there may be, because an ingress brings everybody from one address.
    pub max_connections_per_address: u32,
    /// The largest request body in bytes; a larger one is a 413.
    pub max_body_bytes: u64,
    /// The largest body of a read (a retrieval, texts to embed) in bytes; a larger one is a 413. Chats have `maxBodyBytes`, because of pictures.
    pub max_read_body_bytes: u64,
    /// Tokens of all texts of one request to `/v1/embeddings`; more is a 400.
    pub max_embedding_tokens: u32,
    /// Bytes of request bodies that are held at a time, all requests together; a request whose body finds no room is a 429. The first 64 KiB of each are not counted, so that questions get in while documents fill it.
    pub max_bodies_bytes: u64,
    /// How long a request's body may take to arrive, in seconds; of a copy that is restored, each 64 KiB of it.
    pub body_timeout_seconds: u64,
    /// Documents in one request.
    pub max_documents: u32,
    /// Bytes of one document's text; a larger one has to be split.
    pub max_document_bytes: u32,
    /// Bytes of one document's metadata, as JSON.
    pub max_metadata_bytes: u32,
    /// How long cutting a document of `maxDocumentBytes` into chunks may take, in seconds; a shorter one has its part of that, and 2 seconds at least. One that takes longer is a 400 that names it.
    pub cut_timeout_seconds: u64,
    /// Indexes that may exist.
    pub max_indexes: u32,
    /// Retrievals, lists and embeddings that run at a time.
    pub max_running_reads: u32,
    /// How many more of them may wait; one more is a 429.
    pub max_waiting_reads: u32,
    /// Chats that are prepared at a time: read, searched for, put together. Asking the language model has a bound of its own, `inferenceService.maxConcurrentRequests`.
    pub max_running_chats: u32,
    /// How many more of them may wait; one more is a 429.
    pub max_waiting_chats: u32,
    /// Requests that change something and run at a time.
    pub max_running_writes: u32,
    /// How many more of them may wait; one more is a 429.
    pub max_waiting_writes: u32,
    /// How long a read may take from the end of its body to its reply, and a chat until the language model is asked, in seconds: a 503 while it waits for its turn, then a 504.
    pub read_timeout_seconds: u64,
    /// The same for a write, in seconds.
    pub write_timeout_seconds: u64,
    /// How long a client may take nothing of what is sent to it, in seconds. Its connection is closed then.
    pub send_timeout_seconds: u64,
    /// How long requests that run may take to finish when the server is told to stop, in seconds.
    pub shutdown_grace_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 2_048,
            max_connections_per_address: 0,
            max_body_bytes: 32 << 20,
            body_timeout_seconds: 60,
            max_documents: 10_000,
            max_document_bytes: 2 << 20,
            max_metadata_bytes: 16 << 10,
            cut_timeout_seconds: 30,
            max_indexes: 1_000,
            max_read_body_bytes: 2 << 20,
            max_embedding_tokens: 300_000,
            max_bodies_bytes: 128 << 20,
            max_running_reads: 256,
            max_waiting_reads: 1_024,
            max_running_chats: 256,
            max_waiting_chats: 1_024,
            max_running_writes: 64,
            max_waiting_writes: 256,
            read_timeout_seconds: 60,
            write_timeout_seconds: 1_800,
            send_timeout_seconds: 60,
            shutdown_grace_seconds: 25,
        }
    }
}

/// The server's log, on standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Log {
    /// What is logged: `error`, `warn`, `info`, `debug` or `trace`, or directives such as `info,ragengine::chat=debug`.
    pub level: String,
    /// How a line looks.
    pub format: LogFormat,
    /// Whether lines may quote what callers sent and what endpoints answered: what is wrong with a request in words, the names that it asks for, the messages of the language model and the embedding endpoint. When they may not, they have kinds, statuses, lengths and places instead.
    pub texts: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Auto, texts: false }
    }
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogFormat {
    /// Readable on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object a line.
    Json,
    /// Readable.
    Text,
}

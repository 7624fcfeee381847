use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

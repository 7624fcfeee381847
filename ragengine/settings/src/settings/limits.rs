use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits on requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// Maximum number of connections. A further connection replaces the one that has been idle longest; it waits while
    /// none is idle.
    pub max_connections: u32,
    /// Maximum number of connections from one address (for IPv6, from one /64 network). Further ones are closed. 0: no
    /// limit per address, because behind an ingress all clients have the same address.
    pub max_connections_per_address: u32,
    /// Maximum size of a request body in bytes. A larger one gets a 413.
    pub max_body_bytes: u64,
    /// Maximum size of the body of a read (a retrieval, texts to embed) in bytes. A larger one gets a 413. Chats are
    /// limited by `maxBodyBytes` instead, because they may contain images.
    pub max_read_body_bytes: u64,
    /// Maximum number of tokens of all texts in one request to `/v1/embeddings`. A larger request gets a 400.
    pub max_embedding_tokens: u32,
    /// Maximum memory for the request bodies of all requests together, in bytes. A request that exceeds it gets a 429.
    /// The first 64 KiB of each body are not counted, so that questions are accepted while documents fill the memory.
    pub max_bodies_bytes: u64,
    /// Timeout of receiving a request's body, in seconds. While a backup is restored, it applies to each 64 KiB.
    pub body_timeout_seconds: u64,
    /// Maximum number of documents in one request.
    pub max_documents: u32,
    /// Maximum size of one document's text in bytes. Split larger documents.
    pub max_document_bytes: u32,
    /// Maximum size of one document's metadata, as JSON, in bytes.
    pub max_metadata_bytes: u32,
    /// Timeout of splitting a document of `maxDocumentBytes` into chunks, in seconds of processor time. The timeout of
    /// a shorter document is proportional to its size, and at least 2 seconds. A request with a document that takes
    /// longer gets a 400 that names it.
    pub cut_timeout_seconds: u64,
    /// Maximum number of indexes.
    pub max_indexes: u32,
    /// Maximum number of concurrent retrievals, lists and embeddings.
    pub max_running_reads: u32,
    /// Maximum number of waiting requests. Further ones get a 429.
    pub max_waiting_reads: u32,
    /// Maximum number of chats in preparation, which is parsing, retrieval and building the prompt. Requests to the
    /// language model are limited by `inferenceService.maxConcurrentRequests`.
    pub max_running_chats: u32,
    /// Maximum number of waiting requests. Further ones get a 429.
    pub max_waiting_chats: u32,
    /// Chats per minute of one caller: of one principal, or without `auth.modes` of one address. Further ones get a 429
    /// with `Retry-After`. 0: no limit. Behind an ingress all clients have the same address.
    pub chats_per_minute_per_caller: u32,
    /// Maximum number of concurrent writes.
    pub max_running_writes: u32,
    /// Maximum number of waiting requests. Further ones get a 429.
    pub max_waiting_writes: u32,
    /// Timeout of a read, from the end of its body to its reply, and of a chat, until the language model is asked, in
    /// seconds. A request still waiting to run then gets a 503, a running one a 504.
    pub read_timeout_seconds: u64,
    /// Timeout of a write, in seconds.
    pub write_timeout_seconds: u64,
    /// How long a client may stop reading its reply, in seconds, before its connection is closed.
    pub send_timeout_seconds: u64,
    /// How long running requests may take to finish when the server shuts down, in seconds.
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
            chats_per_minute_per_caller: 0,
            max_running_writes: 64,
            max_waiting_writes: 256,
            read_timeout_seconds: 60,
            write_timeout_seconds: 1_800,
            send_timeout_seconds: 60,
            shutdown_grace_seconds: 25,
        }
    }
}

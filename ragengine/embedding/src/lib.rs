//! Embeds texts with a sentence-transformer in this process, or with a remote OpenAI-compatible endpoint.
//!
//! ```text
//! files ── locating a model's files, or downloading them from a hub
//!   └─ profile ── settings from its configuration files: pooling, length limit, prefixes
//!        └─ local::Model ── tokenise, run, pool, normalise (synchronous)
//!             └─ local::Service ── two queues and their threads (asynchronous)
//! remote::Endpoint ── the same over `/v1/embeddings`
//! Embedder ── one of the two
//! Embedding ── an Embedder with metrics
//! reranker::CrossEncoder ── scores passages for a question (synchronous)
//!   └─ reranker::Service ── a queue and its threads (asynchronous)
//! ```
//!
//! Both models run in `graph`, and both services on the threads of a `lane`.
//!
//! Every vector is finite and has length 1. For such vectors, the squared L2 distance is `2 - 2 * cosine`.
//!
//! HTTP clients use rustls without a built-in provider. The process must install one before it creates a
//! [`remote::Endpoint`] or calls [`files::locate_or_fetch`].

mod embedder;
mod error;
mod fault;
pub mod files;
mod graph;
mod http;
mod lane;
pub mod local;
mod measured;
pub mod profile;
pub mod remote;
pub mod reranker;
mod secret;
mod tokenizer;
mod vector;
mod windows;

pub use embedder::Embedder;
pub use error::Error;
pub use local::MAX_BYTES_PER_QUERY_TOKEN;
pub use measured::{Embedding, EmbeddingMetrics, has_document_names};
pub use secret::Secret;
pub use vector::Vector;
pub use windows::Windows;

/// The purpose of embedding a text. Some models need a different prefix for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The text is a query. Latency matters; a text that is too long is truncated.
    Query,
    /// The text is a passage to be found. Throughput matters; a text that is too long is an error.
    Passage,
}

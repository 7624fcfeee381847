//! Text to vectors: by a sentence-transformer in this process, or by a remote OpenAI-compatible endpoint.
//!
//! ```text
//! files ── where a model's files are, or fetching them from a hub
//!   └─ profile ── what its configuration files say: pooling, length limit, prefixes
//!        └─ local::Model ── tokenise, run, pool, normalise (synchronous)
//!             └─ local::Service ── two queues and their threads (asynchronous)
//! remote::Endpoint ── the same over `/v1/embeddings`
//! Embedder ── one of the two
//! Embedding ── the same, measured
//! ```
//!
//! Every vector is finite and has length 1: for such vectors squared L2 distance is `2 - 2 * cosine`.
//!
//! Clients for HTTP use rustls without a built-in provider: the process installs one before it builds an
//! [`remote::Endpoint`] or calls [`files::locate_or_fetch`].

mod embedder;
mod error;
mod fault;
pub mod files;
mod http;
pub mod local;
mod measured;
pub mod profile;
pub mod remote;
mod secret;
mod vector;
mod windows;

pub use embedder::Embedder;
pub use error::Error;
pub use local::MAX_BYTES_PER_QUERY_TOKEN;
pub use measured::{Embedding, EmbeddingMetrics};
pub use secret::Secret;
pub use vector::Vector;
pub use windows::Windows;

/// What a text is embedded for: some models want another prefix for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The text is searched with. Latency matters; a text that is too long is cut.
    Query,
    /// The text is searched for. Throughput matters; a text that is too long is an error.
    Passage,
}

//! HTTP handlers, one file per resource.

pub mod chat_completions;
pub mod context;
pub mod documents;
pub mod embeddings;
pub mod extract;
pub mod feedback;
pub mod generation;
pub mod indexes;
pub mod models;
pub mod observe;
pub mod pipe;
pub mod probes;
pub mod reply;
pub mod retrieve;
pub mod sources;
pub mod transfer;

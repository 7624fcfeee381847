//! HTTP handlers, one file per resource.

pub mod cache;
pub mod chat;
pub mod chat_completions;
mod chat_reply;
pub mod context;
pub mod documents;
pub mod embeddings;
pub mod extract;
pub mod feedback;
pub mod generation;
pub mod indexes;
pub mod models;
pub mod observe;
pub mod page;
pub mod pipe;
pub mod probes;
pub mod query;
pub mod reply;
pub mod retrieve;
pub mod search;
pub mod sources;
pub mod transfer;

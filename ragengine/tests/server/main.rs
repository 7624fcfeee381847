//! Tests of the server over HTTP, with the real store, FAISS and embedding model. The language model and remote
//! embedders are scripted.

#![expect(clippy::unwrap_used, reason = "tests")]

mod auth;
mod backup;
mod backup_bucket;
mod bad_input;
mod bodies;
mod callers;
mod chat_deadline;
mod chat_extractive;
mod chat_metrics;
mod chat_service;
mod chat_upstream;
mod clients;
mod collector;
mod command_line;
mod connections;
mod context_format;
mod crash;
mod document_names;
mod documents;
mod durability;
mod embeddings;
mod encryption;
mod events;
mod faults;
mod feedback;
mod filters;
mod forwarding;
mod generations;
mod goldens;
mod guarded_answers;
mod hybrid;
mod import_kaito;
mod interactions;
mod language_model_health;
mod log_texts;
mod model_queue;
mod models;
mod observability;
mod overload;
mod pages;
mod passages;
mod persist;
mod postgres;
mod private_files;
mod query;
mod query_rules;
mod remote_embedding;
mod rerank;
mod response_cache;
mod retrieve;
mod rewrite;
mod snapshots;
mod soak;
mod sources;
mod status;
mod streams;
mod support;
mod sync;
#[path = "../../events/tests/events/test_rabbitmq.rs"]
#[expect(dead_code, reason = "the tests of the crate `ragengine-events` use the rest")]
mod test_rabbitmq;
mod tokens;
mod traces;
mod transports;
mod vector_databases;
mod write_token;

//! Indexes in Weaviate, beside those with FAISS: both pass the same tests. Weaviate is the program that
//! `config/local/weaviate.sh` builds.

#![expect(clippy::unwrap_used, reason = "tests")]

mod contract;
mod corpus;
mod engine;
mod latency;
mod nodes;
mod one_node;
mod three_nodes;
mod writers;

//! Indexes in Weaviate and Qdrant, beside those with FAISS: all pass the same tests. Weaviate is the program that
//! `config/local/weaviate.sh` builds. Qdrant is the server that `QDRANT_URL` names, or else its protocol over its
//! storage engine (the crate `ragengine-test-qdrant`).

#![expect(clippy::unwrap_used, reason = "tests")]

mod contract;
mod corpus;
mod engine;
#[expect(dead_code, reason = "the benchmark of large indexes uses the rest")]
mod nodes;
mod one_node;
mod qdrant;
mod replies;
mod servers;
mod three_nodes;
mod writers;

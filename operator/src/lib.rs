//! The operator: watches RAGEngines, and makes of each a server with its Service, settings and volume; watches Indexes, and makes Jobs that fill
//! them; their status says what became of it.
//!
//! `rag_engine` and `index` are the drivers and read like contents pages; their steps are pure but for the first and the last. `apply` and
//! `index::apply` are the only writers of objects, `engine` and `records` the only ones that talk to the servers.

pub mod admin;
pub mod api_server;
pub mod apply;
pub mod args;
pub mod backoff;
pub mod context;
pub mod departed;
pub mod engine;
pub mod error;
pub mod events;
mod hash;
pub mod index;
pub mod lease;
pub mod metrics;
pub mod names;
pub mod openshift;
pub mod permissions;
mod quantity;
pub mod rag_engine;
pub mod records;
pub mod requests;
pub mod rollouts;
pub mod run;
pub mod scope;
pub mod secret_use;
pub mod warnings;
pub mod watches;

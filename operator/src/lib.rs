//! The operator: watches RAGEngines, and makes of each a server with its Service, settings and volume; its status says what became of it.
//!
//! `rag_engine` is the driver and reads like a contents page; its steps are pure but for the first and the last. `apply` is the only writer of
//! objects, `engine` the only one that talks to the servers.

pub mod admin;
pub mod apply;
pub mod args;
pub mod backoff;
pub mod context;
pub mod engine;
pub mod error;
pub mod events;
mod hash;
pub mod lease;
pub mod metrics;
pub mod names;
pub mod permissions;
mod quantity;
pub mod rag_engine;
pub mod requests;
pub mod run;
pub mod scope;
pub mod warnings;
pub mod watches;

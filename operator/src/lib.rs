//! The operator: watches RAGEngines, and makes of each a server with its Service, settings and volume; watches Indexes, and makes Jobs that fill
//! them; their status says what became of it.
//!
//! `rag_engine` and `index` are the drivers and read like contents pages; of their steps only `observe` and `apply` reach beyond the process. `apply`
//! writes the objects of engines, `index::apply` and `sync_job` those of Indexes, `report` every status; `engine` and `records` are the only ones that
//! talk to the servers.

pub mod admin;
pub mod api_server;
pub mod apply;
pub mod args;
pub mod backoff;
pub mod context;
pub mod defaults;
pub mod departed;
pub mod departures;
pub mod engine;
pub mod error;
pub mod events;
pub mod finding;
mod hash;
pub mod index;
pub mod job;
pub mod lease;
pub mod metrics;
pub mod names;
pub mod openshift;
pub mod permissions;
pub mod pod;
pub mod pod_parts;
pub mod ports;
mod quantity;
pub mod rag_engine;
pub mod records;
pub mod report;
pub mod requests;
pub mod rollouts;
pub mod run;
pub mod scope;
pub mod secret_use;
pub mod server_image;
pub mod sync_job;
pub mod times;
pub mod warnings;
pub mod watches;

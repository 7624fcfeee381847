//! The operator. For each RAGEngine it runs a server with its Service, settings and volume. For each Index it creates
//! Jobs that fill an index. It reports both in their status.
//!
//! `rag_engine` and `index` contain the two reconciles, which read like tables of contents. Only their steps `observe`
//! and `apply` do I/O: `apply` writes the objects of engines, `index::apply` and `sync_job` those of Indexes, and
//! `report` writes every status. Only `engine` and `records` talk to the servers, `api_server` and `cluster_issuer` read
//! what the API server says about itself, `karpenter` whether the cluster has NodeClaims.

pub mod access_rules;
pub mod admin;
pub mod api_server;
pub mod apply;
pub mod args;
pub mod backoff;
pub mod cluster_issuer;
pub mod context;
pub mod defaults;
pub mod deleted_index;
pub mod departures;
pub mod engine;
pub mod error;
pub mod events;
pub mod finding;
pub mod gateway;
mod hash;
pub mod index;
pub mod job;
pub mod karpenter;
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
pub mod scheme;
pub mod scope;
pub mod secret_use;
pub mod server_image;
pub mod server_token;
pub mod sync_job;
pub mod times;
pub mod warnings;
pub mod watches;

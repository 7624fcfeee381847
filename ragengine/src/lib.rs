//! The server: retrieval-augmented chat over the OpenAI API, with sources, over FAISS indexes.
//!
//! A request passes [`router`] → [`middleware`] → [`http`] → [`chat`] or [`retrieval`] → `ragengine_index` and
//! [`language_model`]. The crate `ragengine_pipeline` has the chat algorithm; this crate does the I/O.

pub mod access;
pub mod admission;
pub mod app;
pub mod args;
pub mod backups;
pub mod boundary;
pub mod chat;
pub mod cli;
pub mod converse;
pub mod embedding;
pub mod error;
pub mod http;
pub mod language_model;
pub mod middleware;
pub mod pages;
pub mod report;
pub mod retrieval;
pub mod router;
pub mod secrets;
pub mod server;
pub mod stores;
pub mod telemetry;

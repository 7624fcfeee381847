//! The server: retrieval-augmented chat over the OpenAI API, answered from FAISS indexes, with its sources.
//!
//! A request goes one way: [`router`] → [`middleware`] → [`http`] → [`chat`] or [`retrieval`] → `ragengine_index`, [`language_model`] → reply.
//! What the specifications define is in the crate `ragengine_pipeline`; this crate does the I/O around it.

pub mod access;
pub mod admission;
pub mod app;
pub mod args;
pub mod chat;
pub mod cli;
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
pub mod telemetry;

//! Tests with the real model, a tiny cross-encoder, and with scripted HTTP servers.

#![expect(clippy::unwrap_used, reason = "tests")]

mod fetch;
mod files;
mod model;
mod remote;
mod reranker;
mod server;
mod service;
mod tiny_cross_encoder;

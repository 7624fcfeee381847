//! Tests with the real model, tiny ones, and with scripted HTTP servers.

#![expect(clippy::unwrap_used, reason = "tests")]

mod fetch;
mod files;
mod model;
mod onnx;
mod quantised;
mod remote;
mod reranker;
mod server;
mod service;
mod tiny_cross_encoder;

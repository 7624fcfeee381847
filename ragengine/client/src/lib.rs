//! The server's HTTP API as types, and a client for it.
//!
//! One definition serves everybody: the server reads and writes these types, its OpenAPI document is generated from them,
//! and the command line talks through [`Client`].

mod client;
mod copies;
mod hash;
pub mod wire;

pub use client::{Client, ClientError};
pub use hash::{content_hash, default_doc_id};

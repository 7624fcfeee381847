//! The server's HTTP API as types, and a client for it.
//!
//! One definition serves everybody: the server reads and writes these types, its OpenAPI document is generated from them,
//! and the command line talks through `Client`.

#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod copies;
mod hash;
pub mod wire;

#[cfg(feature = "http")]
pub use client::{Client, ClientError};
#[cfg(feature = "http")]
pub use copies::Over;
pub use hash::{content_hash, default_doc_id};

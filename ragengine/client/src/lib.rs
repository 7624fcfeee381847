//! The server's HTTP API as types, and a client for it.
//!
//! The server, its OpenAPI document and the command line share these types.

#[cfg(feature = "http")]
mod backup;
#[cfg(feature = "http")]
mod client;
mod hash;
pub mod wire;

#[cfg(feature = "http")]
pub use backup::{Download, RestoreOptions};
#[cfg(feature = "http")]
pub use client::{Client, ClientError};
pub use hash::{content_hash, default_doc_id};

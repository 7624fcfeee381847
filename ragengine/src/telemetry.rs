//! What can be seen of the server from outside: metrics, the log, and the id that a request has in both.

pub mod chat;
pub mod logging;
pub mod metrics;

use axum::http::HeaderName;

/// The header that names a request. It is taken from the caller, or made, and comes back with the reply.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Marks a response whose line is in the log already, or comes when it has ended.
#[derive(Debug, Clone, Copy)]
pub struct Logged;

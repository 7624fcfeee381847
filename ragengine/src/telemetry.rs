//! Metrics, the log, and request ids.

pub mod chat;
pub mod logging;
pub mod metrics;
pub mod traces;

use axum::http::HeaderName;

/// The header of the request id. It is the caller's or a new one, and is also in the reply.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Marks a response that the handler logs itself.
#[derive(Debug, Clone, Copy)]
pub struct Logged;

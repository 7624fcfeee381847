//! JSON replies that are serialized on compute threads.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::error::ApiError;

/// Returns a 200 response with these bytes of JSON.
pub fn of_bytes(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], Body::from(bytes)).into_response()
}

/// Serializes a value as JSON. `about_bytes` is its expected size, for the buffer.
///
/// # Errors
///
/// [`ApiError::Internal`] when the value cannot be serialized, which is a bug.
pub fn written(value: &impl Serialize, about_bytes: usize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::with_capacity(about_bytes.min(MAX_RESERVED_BYTES));
    serde_json::to_writer(&mut bytes, value).map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(bytes)
}

/// Largest initial size of a buffer.
const MAX_RESERVED_BYTES: usize = 64 << 20;

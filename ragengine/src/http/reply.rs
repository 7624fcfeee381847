//! Replies in JSON that are written where they are made: apart from the threads that serve requests.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use crate::error::ApiError;

/// A 200 whose body is this JSON.
pub fn of_bytes(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], Body::from(bytes)).into_response()
}

/// A value in JSON, which takes about so many bytes.
///
/// # Errors
///
/// [`ApiError::Internal`]: it cannot be written, which is a mistake of ours.
pub fn written(value: &impl Serialize, about_bytes: usize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::with_capacity(about_bytes.min(MAX_RESERVED_BYTES));
    serde_json::to_writer(&mut bytes, value).map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(bytes)
}

/// Room that is reserved at once, at most.
const MAX_RESERVED_BYTES: usize = 64 << 20;

use std::sync::Arc;

use axum::http::HeaderValue;
use bytes::Bytes;

use super::extractive::Quotable;
use crate::admission::Held;

/// What the language model is asked.
pub struct Ask {
    /// The chat in OpenAI's wire.
    pub body: Bytes,
    /// What the built-in model answers from. An endpoint has it in the conversation.
    pub quotable: Option<Quotable>,
    /// The room that the caller's body takes, until the language model has the chat.
    pub room: Option<Arc<Held>>,
    /// The id that goes along.
    pub request_id: HeaderValue,
}

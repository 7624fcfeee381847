//! The body of a chat request: the bytes that came, and what of them the language model gets.

use bytes::Bytes;
use ragengine_json::{Edit, rewrite};
use serde_json::Value;
use serde_json::value::RawValue;

/// Fields of ours. They never go upstream.
const OWN_FIELDS: [&str; 3] = ["index_name", "context_token_ratio", "explain"];

/// The names under which a caller may bound the answer, the newer one first.
pub(crate) const MAX_TOKENS_FIELDS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// The body of a chat in OpenAI's wire, of which the language model gets what a caller sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatBody {
    bytes: Bytes,
    names_model: bool,
    has_own_fields: bool,
    has_model_field: bool,
}

impl ChatBody {
    /// A body that was read. `has_field` says which fields it has, those that are null included.
    pub(crate) fn new(bytes: &Bytes, names_model: bool, has_field: impl Fn(&str) -> bool) -> Self {
        Self {
            bytes: bytes.clone(),
            names_model,
            has_own_fields: OWN_FIELDS.into_iter().any(&has_field),
            has_model_field: has_field("model"),
        }
    }

    /// The whole body as it was sent.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Whether the caller's bytes can go to the language model untouched: they name a model and hold no field of ours.
    pub fn is_forwardable_as_sent(&self) -> bool {
        self.names_model && !self.has_own_fields
    }

    /// The body for the language model: without our fields, with what `changes` says, every other field as it was sent and in its place.
    pub fn forwardable(&self, changes: &Changes<'_>) -> Vec<u8> {
        let model = changes.default_model.filter(|_| !self.names_model).map(|model| Value::from(model).to_string());
        let edit = |name: &str, value: &RawValue| match name {
            // It holds null or nothing.
            "model" => model.clone().map_or(Edit::Keep, Edit::Replace),
            "messages" => changes.messages.clone().map_or(Edit::Keep, Edit::Replace),
            own if OWN_FIELDS.contains(&own) => Edit::Drop,
            bound if MAX_TOKENS_FIELDS.contains(&bound) => lowered(value, changes.max_tokens),
            _ => Edit::Keep,
        };
        let added = model.clone().filter(|_| !self.has_model_field).map(|model| ("model", model));
        // It was read before, as UTF-8, and can be read again.
        rewrite(&String::from_utf8_lossy(&self.bytes), edit, added.as_slice()).unwrap_or_else(|_| self.bytes.to_vec())
    }
}

/// What of a body is changed before it goes to the language model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes<'a> {
    /// The model, where the caller named none.
    pub default_model: Option<&'a str>,
    /// The conversation in JSON, where it is another one.
    pub messages: Option<String>,
    /// The longest answer, written into every field by which the caller bounded it to more. None is added.
    pub max_tokens: Option<u64>,
}

fn lowered(sent: &RawValue, max_tokens: Option<u64>) -> Edit {
    match (sent.get().parse::<u64>(), max_tokens) {
        (Ok(sent), Some(max_tokens)) if sent > max_tokens => Edit::Replace(max_tokens.to_string()),
        _ => Edit::Keep,
    }
}

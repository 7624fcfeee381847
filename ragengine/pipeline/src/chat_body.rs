//! The body of a chat request, and the body for the language model that is made from it.

use bytes::Bytes;
use ragengine_json::{Edit, rewrite};
use serde_json::Value;
use serde_json::value::RawValue;

/// The fields that only this server reads. They are not forwarded to the language model.
const OWN_FIELDS: [&str; 8] = [
    "index_name",
    "context_token_ratio",
    "metadata_filter",
    "pipeline",
    "chat_mode",
    "citations",
    "rag_with_tools",
    "explain",
];

/// The names of the field that bounds the answer. The newer name is first.
pub(crate) const MAX_TOKENS_FIELDS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// The body of a chat request in OpenAI's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatBody {
    bytes: Bytes,
    names_model: bool,
    has_own_fields: bool,
    has_model_field: bool,
}

impl ChatBody {
    /// A body that has been parsed. `has_field` is true for each field in it, also when its value is null.
    pub(crate) fn new(bytes: &Bytes, names_model: bool, has_field: impl Fn(&str) -> bool) -> Self {
        Self {
            bytes: bytes.clone(),
            names_model,
            has_own_fields: OWN_FIELDS.into_iter().any(&has_field),
            has_model_field: has_field("model"),
        }
    }

    /// The body, byte for byte.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Whether the body can be forwarded byte for byte: it names a model and has none of this server's fields.
    pub fn is_forwardable_as_sent(&self) -> bool {
        self.names_model && !self.has_own_fields
    }

    /// The body for the language model: without this server's fields, with `changes`. All other fields keep their bytes
    /// and their order.
    pub fn forwardable(&self, changes: &BodyChanges) -> Vec<u8> {
        let model = changes.default_model.as_deref().filter(|_| !self.names_model);
        let model = model.map(|model| Value::from(model).to_string());
        let edit = |name: &str, value: &RawValue| match name {
            // There is no `model` when the caller named one.
            "model" => model.clone().map_or(Edit::Keep, Edit::Replace),
            "messages" => changes.messages.as_deref().map_or(Edit::Keep, |messages| Edit::Replace(list(messages))),
            own if OWN_FIELDS.contains(&own) => Edit::Drop,
            bound if MAX_TOKENS_FIELDS.contains(&bound) => lowered(value, changes.max_tokens),
            _ => Edit::Keep,
        };
        let added = model.clone().filter(|_| !self.has_model_field).map(|model| ("model", model));
        // Parsing cannot fail: these bytes have been parsed before.
        rewrite(&String::from_utf8_lossy(&self.bytes), edit, added.as_slice()).unwrap_or_else(|_| self.bytes.to_vec())
    }
}

/// The changes of a body before it is forwarded to the language model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BodyChanges {
    /// The model to ask when the caller named none.
    pub default_model: Option<String>,
    /// The messages to send instead of the caller's.
    pub messages: Option<Vec<Value>>,
    /// The bound for the answer, in tokens. It replaces a larger bound of the caller. No field is added.
    pub max_tokens: Option<u64>,
}

impl BodyChanges {
    /// The approximate size of the changed messages, in bytes.
    pub fn about_bytes(&self) -> usize {
        self.messages.iter().flatten().map(|message| message["content"].as_str().map_or(0, str::len)).sum()
    }
}

/// Messages as a JSON list.
fn list(messages: &[Value]) -> String {
    let messages: Vec<String> = messages.iter().map(Value::to_string).collect();
    format!("[{}]", messages.join(","))
}

/// Lowers a bound of the caller to `max_tokens`.
fn lowered(sent: &RawValue, max_tokens: Option<u64>) -> Edit {
    match (sent.get().parse::<u64>(), max_tokens) {
        (Ok(sent), Some(max_tokens)) => Edit::Replace(sent.min(max_tokens).to_string()),
        _ => Edit::Keep,
    }
}

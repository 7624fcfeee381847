//! The body of a chat request: what the caller sent, and the few fields that the algorithm looks at.
//!
//! The body stays the bytes that came. Only what the algorithm looks at is read out of them, so that a request costs what it weighs,
//! and numbers and their order go on as they were sent.

mod fields;
mod message;

use std::borrow::Cow;

use bytes::Bytes;
use fields::Fields;
pub use message::{Content, Message, Role};
use ragengine_json::{Bounds, Edit, rewrite};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Rejection, plan};

/// Fields of ours. They never go upstream.
const OWN_FIELDS: [&str; 3] = ["index_name", "context_token_ratio", "explain"];

/// The names under which a caller may bound the answer, the newer one first.
const MAX_TOKENS_FIELDS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// Bounds on a conversation that is counted: far above what a chat has, and some ten megabytes.
const CONVERSATION: Bounds = Bounds { max_values: 200_000, max_depth: 64 };

/// A chat request whose JSON and types have been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    body: Bytes,
    has_own_fields: bool,
    has_model_field: bool,
    /// The index to answer from. An empty name counts as none.
    pub index_name: Option<String>,
    /// The part of the tokens left that context may take.
    pub context_token_ratio: Option<f64>,
    /// Whether the reply is to say what was decided, and why.
    pub explain: bool,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The model that the caller named.
    pub model: Option<String>,
    /// The models that some endpoints ask when that one fails (`models`).
    pub other_models: Vec<String>,
    /// Whether the answer is wanted as a stream of events.
    pub stream: bool,
    /// Whether a stream ends with the usage (`stream_options.include_usage`).
    pub include_usage: bool,
    /// How many answers are wanted.
    pub choices: u64,
    /// The longest answer in tokens: the smaller one where both names are used.
    pub max_tokens: Option<u64>,
    /// Whether tools or functions are present.
    pub has_tools: bool,
}

impl ChatRequest {
    /// Reads a body: its JSON, the types of the fields that are looked at, and the bounds of `context_token_ratio`
    /// (which hold with or without an index). Fields that are not looked at are the upstream's to judge.
    ///
    /// # Errors
    ///
    /// [`Rejection::Json`], [`Rejection::Type`] or [`Rejection::ContextTokenRatio`].
    pub fn parse(body: impl Into<Bytes>) -> Result<Self, Rejection> {
        let body = body.into();
        let fields = Fields::read(&body)?;
        let (choices, max_tokens) = (fields.natural("n"), fields.max_tokens());
        let request = Self {
            context_token_ratio: fields.context_token_ratio()?,
            index_name: fields.string("index_name")?.filter(|name| !name.is_empty()),
            explain: fields.boolean("explain")?,
            messages: message::parse_all(&body, fields.get("messages"))?,
            model: fields.string("model")?.filter(|model| !model.is_empty()),
            other_models: fields.other_models()?,
            stream: fields.boolean("stream")?,
            include_usage: fields.include_usage(),
            choices: choices.as_ref().ok().copied().flatten().unwrap_or(1),
            max_tokens: max_tokens.as_ref().ok().copied().flatten(),
            has_tools: ["tools", "functions"].iter().any(|name| fields.present(name).is_some()),
            has_model_field: fields.get("model").is_some(),
            has_own_fields: OWN_FIELDS.iter().any(|name| fields.get(name).is_some()),
            body: body.clone(),
        };
        // What is passed through is the language model's to judge: some take -1 for no bound.
        if plan::bypass(&request).is_none() {
            choices?;
            max_tokens?;
        }
        Ok(request)
    }

    /// The whole body as it was sent.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// What a message says: its parts joined by a line break, empty where it says nothing or is not text.
    pub fn text(&self, position: usize) -> String {
        self.messages.get(position).map(|message| message.text(&self.body)).unwrap_or_default()
    }

    /// Bytes of the conversation as it was sent, JSON's own included.
    pub fn conversation_bytes(&self) -> usize {
        self.messages.iter().map(Message::bytes).sum()
    }

    /// The messages as they were sent, to be counted and put into a prompt. [`Self::conversation_bytes`] says what they are about to cost.
    ///
    /// # Errors
    ///
    /// [`Rejection::Type`]: they hold more values than a conversation has.
    pub fn conversation(&self) -> Result<Vec<Value>, Rejection> {
        let mut budget = CONVERSATION.budget();
        let messages = self.messages.iter().map(|message| message.value(&self.body, &mut budget));
        messages.collect::<Result<_, _>>().map_err(|error| Rejection::wrong_value("messages", &error.to_string()))
    }

    /// Whether the caller's bytes can go upstream untouched: they name a model and hold no field of ours.
    pub fn is_forwardable_as_sent(&self) -> bool {
        self.model.is_some() && !self.has_own_fields
    }

    /// The body for the language model: without our fields, with what `changes` says, every other field as it was sent and in its place.
    pub fn forwardable_body(&self, changes: &Changes<'_>) -> Vec<u8> {
        let model = changes.default_model.filter(|_| self.model.is_none()).map(|model| Value::from(model).to_string());
        let edit = |name: &str, value: &RawValue| match name {
            // It holds null or nothing.
            "model" => model.clone().map_or(Edit::Keep, Edit::Replace),
            "messages" => changes.messages.clone().map_or(Edit::Keep, Edit::Replace),
            own if OWN_FIELDS.contains(&own) => Edit::Drop,
            bound if MAX_TOKENS_FIELDS.contains(&bound) => lowered(value, changes.max_tokens),
            _ => Edit::Keep,
        };
        let added = model.clone().filter(|_| !self.has_model_field).map(|model| ("model", model));
        // It was read before, and can be read again.
        rewrite(&text_of(&self.body), edit, added.as_slice()).unwrap_or_else(|_| self.body.to_vec())
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

/// The body as text. That it is UTF-8 was seen when it was read.
fn text_of(body: &Bytes) -> Cow<'_, str> {
    String::from_utf8_lossy(body)
}

#[cfg(test)]
mod tests;

//! The body of a chat request: what the caller sent, and the few fields that the algorithm looks at.

mod message;

pub use message::{Content, Message, Role};
use serde_json::{Map, Value};

use crate::{Rejection, plan};

/// Fields of ours. They never go upstream.
const OWN_FIELDS: [&str; 3] = ["index_name", "context_token_ratio", "explain"];

/// The names under which a caller may bound the answer, the newer one first.
const MAX_TOKENS_FIELDS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// A chat request whose JSON and types have been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// The whole body as it was sent, in its order.
    pub body: Map<String, Value>,
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
    pub fn parse(body: &[u8]) -> Result<Self, Rejection> {
        let body: Map<String, Value> = match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err(Rejection::wrong_type("body", "a JSON object")),
            Err(error) => return Err(Rejection::Json(error.to_string())),
        };
        let (choices, max_tokens) = (natural(&body, "n"), max_tokens(&body));
        let request = Self {
            context_token_ratio: context_token_ratio(&body)?,
            index_name: string(&body, "index_name")?.filter(|name| !name.is_empty()),
            explain: boolean(&body, "explain")?,
            messages: message::parse_all(&body)?,
            model: string(&body, "model")?.filter(|model| !model.is_empty()),
            stream: boolean(&body, "stream")?,
            include_usage: body.get("stream_options").and_then(|options| options.get("include_usage"))
                == Some(&Value::Bool(true)),
            choices: choices.as_ref().ok().copied().flatten().unwrap_or(1),
            max_tokens: max_tokens.as_ref().ok().copied().flatten(),
            has_tools: ["tools", "functions"].iter().any(|name| present(&body, name).is_some()),
            body,
        };
        // What is passed through is the language model's to judge: some take -1 for no bound.
        if plan::bypass(&request).is_none() {
            choices?;
            max_tokens?;
        }
        Ok(request)
    }

    /// Whether the caller's bytes can go upstream untouched: they name a model and hold no field of ours.
    pub fn is_forwardable_as_sent(&self) -> bool {
        self.model.is_some() && !OWN_FIELDS.iter().any(|field| self.body.contains_key(*field))
    }

    /// The body without our fields, every other one unchanged and in its place. `default_model` is used when the caller named none.
    pub fn forwardable_body(&self, default_model: Option<&str>) -> Map<String, Value> {
        let mut body: Map<String, Value> = self
            .body
            .iter()
            .filter(|(name, _)| !OWN_FIELDS.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if let (None, Some(model)) = (&self.model, default_model) {
            body.insert("model".to_owned(), Value::from(model));
        }
        body
    }
}

/// Writes `max_tokens` into every field by which the caller bounded the answer, and adds none.
pub fn lower_max_tokens(body: &mut Map<String, Value>, max_tokens: u64) {
    for field in MAX_TOKENS_FIELDS {
        if let Some(value) = body.get_mut(field).filter(|value| value.as_u64().is_some_and(|sent| sent > max_tokens)) {
            *value = Value::from(max_tokens);
        }
    }
}

/// The field's value, unless it is absent or null.
fn present<'a>(body: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    body.get(name).filter(|value| !value.is_null())
}

fn string(body: &Map<String, Value>, name: &str) -> Result<Option<String>, Rejection> {
    match present(body, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Rejection::wrong_type(name, "a string")),
    }
}

fn boolean(body: &Map<String, Value>, name: &str) -> Result<bool, Rejection> {
    match present(body, name) {
        None => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(Rejection::wrong_type(name, "true or false")),
    }
}

fn natural(body: &Map<String, Value>, name: &str) -> Result<Option<u64>, Rejection> {
    match present(body, name) {
        None => Ok(None),
        Some(value) => match value.as_u64().filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(Rejection::wrong_type(name, "a whole number of at least 1")),
        },
    }
}

fn max_tokens(body: &Map<String, Value>) -> Result<Option<u64>, Rejection> {
    let mut smallest = None;
    for field in MAX_TOKENS_FIELDS {
        smallest = [smallest, natural(body, field)?].into_iter().flatten().min();
    }
    Ok(smallest)
}

fn context_token_ratio(body: &Map<String, Value>) -> Result<Option<f64>, Rejection> {
    match present(body, "context_token_ratio") {
        None => Ok(None),
        Some(Value::Number(number)) => match number.as_f64() {
            Some(ratio) if (0.2..=0.8).contains(&ratio) => Ok(Some(ratio)),
            _ => Err(Rejection::ContextTokenRatio(number.to_string())),
        },
        Some(_) => Err(Rejection::wrong_type("context_token_ratio", "a number between 0.2 and 0.8")),
    }
}

#[cfg(test)]
mod tests;

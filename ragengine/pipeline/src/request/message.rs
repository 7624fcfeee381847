use serde_json::{Map, Value};

use crate::Rejection;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person who asks.
    User,
    /// The model.
    Assistant,
    /// Whoever set the conversation up, under either name.
    System,
    /// Anything else: retrieval does not know what to do with it.
    Other,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text; parts of it joined by a line break. Absent content is empty text.
    Text(String),
    /// Parts of which at least one is not text.
    Other,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

impl Message {
    /// The text, empty where there is something else.
    pub fn text(&self) -> &str {
        match &self.content {
            Content::Text(text) => text,
            Content::Other => "",
        }
    }
}

pub(super) fn parse_all(body: &Map<String, Value>) -> Result<Vec<Message>, Rejection> {
    match body.get("messages") {
        Some(Value::Array(messages)) => {
            messages.iter().enumerate().map(|(position, message)| parse(position, message)).collect()
        }
        _ => Err(Rejection::wrong_type("messages", "a list of messages")),
    }
}

fn parse(position: usize, message: &Value) -> Result<Message, Rejection> {
    let at = |field: &str| format!("messages[{position}]{field}");
    let fields = message.as_object().ok_or_else(|| Rejection::wrong_type(at(""), "an object"))?;
    let role = match fields.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some(_) => Role::Other,
        None => return Err(Rejection::wrong_type(at(".role"), "a string")),
    };
    let content = match fields.get("content") {
        None | Some(Value::Null) => Content::Text(String::new()),
        Some(Value::String(text)) => Content::Text(text.clone()),
        Some(Value::Array(parts)) => parse_parts(parts, &at(".content"))?,
        Some(_) => return Err(Rejection::wrong_type(at(".content"), "a string, a list of parts, or null")),
    };
    Ok(Message { role, content })
}

fn parse_parts(parts: &[Value], place: &str) -> Result<Content, Rejection> {
    let mut texts = Vec::with_capacity(parts.len());
    for (position, part) in parts.iter().enumerate() {
        match part.get("type").and_then(Value::as_str) {
            Some("text") => match part.get("text").and_then(Value::as_str) {
                Some(text) => texts.push(text),
                None => return Err(Rejection::wrong_type(format!("{place}[{position}].text"), "a string")),
            },
            Some(_) => return Ok(Content::Other),
            None => return Err(Rejection::wrong_type(format!("{place}[{position}].type"), "a string")),
        }
    }
    Ok(Content::Text(texts.join("\n")))
}

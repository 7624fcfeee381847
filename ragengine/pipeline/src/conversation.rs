//! A conversation: the role and the content of each message. It does not depend on the protocol of the request.
//!
//! Each message keeps its JSON, a slice of the request. So a conversation needs no memory beyond the request, and its
//! messages are forwarded byte for byte.

use std::borrow::Cow;

use bytes::Bytes;
use ragengine_json::{Bounds, RepeatedKeys, each_field, each_item};
use serde::de::DeserializeSeed as _;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Rejection;

/// Bounds for parsing a conversation into values, which take up to about ten megabytes. Real chats stay far below.
const COUNTED: Bounds = Bounds { max_values: 200_000, max_depth: 64, repeated_keys: RepeatedKeys::Last };

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `user`.
    User,
    /// `assistant`: the language model.
    Assistant,
    /// `system` or `developer`: instructions to the language model.
    System,
    /// Any other role. Such a conversation is passed through without retrieval.
    Other,
}

/// The kind of a message's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Absent, null or empty.
    Empty,
    /// A string, or a list of text parts.
    Text,
    /// A list with at least one part that is not text, such as an image.
    Other,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The kind of the content. [`Self::text`] returns the content.
    pub content: Content,
    /// The JSON object that was sent, in OpenAI's format.
    json: Bytes,
}

impl Message {
    /// Parses the message at this position of the list `messages` from OpenAI's JSON.
    ///
    /// # Errors
    ///
    /// [`Rejection::Type`] with the field whose type is wrong.
    pub fn parse(position: usize, json: Bytes) -> Result<Self, Rejection> {
        let place = |field: &str| format!("messages[{position}]{field}");
        let text = std::str::from_utf8(&json).unwrap_or_default();
        if !text.starts_with('{') {
            return Err(Rejection::wrong_type(place(""), "an object"));
        }
        let known = fields(text);
        let Some(role) = known.role.and_then(string) else {
            return Err(Rejection::wrong_type(place(".role"), "a string"));
        };
        let content = match known.content.map(RawValue::get) {
            None | Some("null" | "\"\"") => Content::Empty,
            Some(text) if text.starts_with('"') => Content::Text,
            Some(parts) => check_parts(parts, &place(".content"))?,
        };
        let role = Role::from_name(&role);
        Ok(Self { role, content, json })
    }

    /// The message's JSON, byte for byte.
    fn as_sent(&self) -> &str {
        std::str::from_utf8(&self.json).unwrap_or_default()
    }

    /// The message's text, its parts joined by line breaks. Empty when the content is empty or not text.
    pub fn text(&self) -> String {
        match (self.content, fields(self.as_sent()).content) {
            (Content::Text, Some(content)) if content.get().starts_with('[') => texts(content).join("\n"),
            (Content::Text, Some(content)) => string(content).unwrap_or_default().into_owned(),
            _ => String::new(),
        }
    }
}

impl Role {
    fn from_name(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "system" | "developer" => Self::System,
            _ => Self::Other,
        }
    }
}

/// The messages of a conversation, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The messages.
    pub messages: Vec<Message>,
}

impl Conversation {
    /// The [`Message::text`] at this position. Empty when there is no such message.
    pub fn text(&self, position: usize) -> String {
        self.messages.get(position).map(Message::text).unwrap_or_default()
    }

    /// The size of the messages' JSON in bytes.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.json.len()).sum()
    }

    /// The messages as JSON values, for counting tokens and writing a prompt. The time grows with [`Self::bytes`].
    ///
    /// # Errors
    ///
    /// [`Rejection::Type`] when the messages hold too many values or are nested too deeply.
    pub fn values(&self) -> Result<Vec<Value>, Rejection> {
        let mut budget = COUNTED.budget();
        let messages = self
            .messages
            .iter()
            .map(|message| budget.deserialize(&mut serde_json::Deserializer::from_str(message.as_sent())));
        messages
            .collect::<Result<_, serde_json::Error>>()
            .map_err(|error| Rejection::wrong_value("messages", &error.to_string()))
    }
}

/// The fields of a message or of a content part that this crate reads. Of a repeated field, the last value counts.
#[derive(Default)]
struct MessageFields<'a> {
    role: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
}

/// Reads the fields of a JSON object. All are `None` when this is not an object.
fn fields(object: &str) -> MessageFields<'_> {
    let mut known = MessageFields::default();
    let read = each_field(object, |name, value| match &*name {
        "role" => known.role = Some(value),
        "content" => known.content = Some(value),
        "type" => known.kind = Some(value),
        "text" => known.text = Some(value),
        _ => {}
    });
    if read.is_ok() { known } else { MessageFields::default() }
}

/// The value of a JSON string. `None` when this is not a string.
fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    match text.strip_prefix('"')?.strip_suffix('"')? {
        plain if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text).ok().map(Cow::Owned),
    }
}

/// The kind of a list of content parts. The first part that is not text decides: later parts are not checked.
fn check_parts(parts: &str, place: &str) -> Result<Content, Rejection> {
    let (mut count, mut is_empty, mut found) = (0_usize, true, None);
    let read = each_item(&mut serde_json::Deserializer::from_str(parts), |part: &RawValue| {
        let known = fields(part.get());
        let wrong = |field: &str| Some(Err(Rejection::wrong_type(format!("{place}[{count}].{field}"), "a string")));
        found = match known.kind.and_then(string).as_deref() {
            Some("text") => match known.text.map(RawValue::get) {
                Some(text) if text.starts_with('"') => {
                    is_empty &= text == "\"\"";
                    None
                }
                _ => wrong("text"),
            },
            Some(_) => Some(Ok(Content::Other)),
            None => wrong("type"),
        };
        count += 1;
        match found {
            None => Ok(()),
            Some(_) => Err(serde::de::Error::custom("decided")),
        }
    });
    match (found, read) {
        (Some(found), _) => found,
        (None, Err(_)) => Err(Rejection::wrong_type(place, "a string, a list of parts, or null")),
        // Two empty parts are joined by a line break, which is text.
        (None, Ok(())) => Ok(if is_empty && count < 2 { Content::Empty } else { Content::Text }),
    }
}

/// The texts of content parts that [`check_parts`] has checked.
fn texts(parts: &RawValue) -> Vec<Cow<'_, str>> {
    let mut texts = Vec::new();
    let read = each_item(&mut serde_json::Deserializer::from_str(parts.get()), |part: &RawValue| {
        texts.extend(fields(part.get()).text.and_then(string));
        Ok(())
    });
    debug_assert!(read.is_ok(), "check_parts has read these parts");
    texts
}

#[cfg(test)]
mod tests;

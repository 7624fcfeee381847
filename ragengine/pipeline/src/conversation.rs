//! A conversation, whatever protocol it came by: who speaks, and what is said. Each message is kept as the JSON that it came as, a slice of
//! the request, so that a conversation costs what it weighs and its messages go on as they were sent.

use std::borrow::Cow;

use bytes::Bytes;
use ragengine_json::{Bounds, each_field, each_item};
use serde::de::DeserializeSeed as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Rejection;

/// Bounds on a conversation that is counted: far above what a chat has, and some ten megabytes.
const COUNTED: Bounds = Bounds { max_values: 200_000, max_depth: 64 };

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Nothing: it is absent, null or empty.
    Empty,
    /// Text, or parts of it.
    Text,
    /// Parts of which at least one is not text.
    Other,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// The message in JSON, in OpenAI's shape.
    json: Bytes,
}

impl Message {
    /// A message of one text.
    pub fn text(role: &str, text: &str) -> Self {
        let content = if text.is_empty() { Content::Empty } else { Content::Text };
        Self { role: Role::named(role), content, json: json!({"role": role, "content": text}).to_string().into() }
    }

    /// The message at this position, in OpenAI's JSON.
    ///
    /// # Errors
    ///
    /// [`Rejection::Type`] with the field that is not what it must be.
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
            Some(parts) if parts.starts_with('[') => check_parts(parts, &place(".content"))?,
            Some(_) => return Err(Rejection::wrong_type(place(".content"), "a string, a list of parts, or null")),
        };
        let role = Role::named(&role);
        Ok(Self { role, content, json })
    }

    /// The message in JSON, as it came.
    fn as_sent(&self) -> &str {
        std::str::from_utf8(&self.json).unwrap_or_default()
    }

    /// What it says: its parts joined by a line break, empty where it says nothing or is not text.
    pub fn said(&self) -> String {
        match (self.content, fields(self.as_sent()).content) {
            (Content::Text, Some(content)) if content.get().starts_with('[') => texts(content).join("\n"),
            (Content::Text, Some(content)) => string(content).unwrap_or_default().into_owned(),
            _ => String::new(),
        }
    }
}

impl Role {
    fn named(name: &str) -> Self {
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
    /// What a message says, as [`Message::said`]. Empty where there is none.
    pub fn said(&self, position: usize) -> String {
        self.messages.get(position).map(Message::said).unwrap_or_default()
    }

    /// Bytes of the conversation as it was sent, JSON's own included.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(|message| message.json.len()).sum()
    }

    /// The messages as they were sent, to be counted and put into a prompt. [`Self::bytes`] says what they are about to cost.
    ///
    /// # Errors
    ///
    /// [`Rejection::Type`]: they hold more values than a conversation has.
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

/// The fields of a message or a part that are looked at. Of one that stands twice the last counts.
#[derive(Default)]
struct Known<'a> {
    role: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
}

/// None of them where it is no object.
fn fields(object: &str) -> Known<'_> {
    let mut known = Known::default();
    let read = each_field(object, |name, value| match &*name {
        "role" => known.role = Some(value),
        "content" => known.content = Some(value),
        "type" => known.kind = Some(value),
        "text" => known.text = Some(value),
        _ => {}
    });
    if read.is_ok() { known } else { Known::default() }
}

/// A string, unless it is something else.
fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    match text.strip_prefix('"')?.strip_suffix('"')? {
        plain if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text).ok().map(Cow::Owned),
    }
}

/// What kind of content parts are. The first that is not text decides, whatever comes behind it.
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
        (None, Err(_)) => Err(Rejection::wrong_type(place, "a list of parts")),
        // Two parts are a line break at least.
        (None, Ok(())) => Ok(if is_empty && count < 2 { Content::Empty } else { Content::Text }),
    }
}

/// The texts of parts that have been checked.
fn texts(parts: &RawValue) -> Vec<Cow<'_, str>> {
    let mut texts = Vec::new();
    let read = each_item(&mut serde_json::Deserializer::from_str(parts.get()), |part: &RawValue| {
        texts.extend(fields(part.get()).text.and_then(string));
        Ok(())
    });
    debug_assert!(read.is_ok(), "they were read before");
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_made_is_as_one_that_came() {
        for (role, text) in [("user", "Hello"), ("system", "a \"quoted\"\nline"), ("assistant", ""), ("tool", "x")] {
            let made = Message::text(role, text);
            assert_eq!(Message::parse(0, made.json.clone()).unwrap(), made);
            assert_eq!(made.said(), text);
        }
    }
}

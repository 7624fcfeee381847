use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use ragengine_json::{Budget, each_field, each_item};
use serde::de::DeserializeSeed as _;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Rejection;

/// Messages of one conversation: more than any model reads.
const MAX_MESSAGES: usize = 10_000;

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

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// Where it stands in the body.
    at: Range<usize>,
}

impl Message {
    /// Its bytes as they were sent.
    pub(super) fn bytes(&self) -> usize {
        self.at.len()
    }

    fn sent<'a>(&self, body: &'a Bytes) -> &'a str {
        std::str::from_utf8(&body[self.at.clone()]).unwrap_or_default()
    }

    /// The text, empty where there is something else.
    pub(super) fn text(&self, body: &Bytes) -> String {
        match (self.content, fields(self.sent(body)).content) {
            (Content::Text, Some(content)) if content.get().starts_with('[') => texts(content).join("\n"),
            (Content::Text, Some(content)) => string(content).unwrap_or_default().into_owned(),
            _ => String::new(),
        }
    }

    /// The whole message.
    pub(super) fn value(&self, body: &Bytes, budget: &mut Budget) -> Result<Value, serde_json::Error> {
        budget.deserialize(&mut serde_json::Deserializer::from_str(self.sent(body)))
    }
}

/// The messages of a body, whose field this is.
pub(super) fn parse_all(body: &[u8], field: Option<&RawValue>) -> Result<Vec<Message>, Rejection> {
    let wrong = || Rejection::wrong_type("messages", "a list of messages");
    let list = field.filter(|field| field.get().starts_with('[')).ok_or_else(wrong)?;
    let (mut messages, mut rejected) = (Vec::new(), None);
    let read = each_item(&mut serde_json::Deserializer::from_str(list.get()), |message: &RawValue| {
        let parsed = match messages.len() {
            MAX_MESSAGES => {
                Err(Rejection::wrong_type("messages", &format!("a list of at most {MAX_MESSAGES} messages")))
            }
            position => parse(position, message, place_in(body, message)),
        };
        match parsed {
            Ok(message) => {
                messages.push(message);
                Ok(())
            }
            Err(rejection) => {
                rejected = Some(rejection);
                Err(serde::de::Error::custom("refused"))
            }
        }
    });
    match (rejected, read) {
        (Some(rejection), _) => Err(rejection),
        (None, Err(_)) => Err(wrong()),
        (None, Ok(())) => Ok(messages),
    }
}

/// Where a value that was borrowed from the body stands in it.
fn place_in(body: &[u8], value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr() as usize - body.as_ptr() as usize;
    start..start + value.get().len()
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

fn parse(position: usize, message: &RawValue, at: Range<usize>) -> Result<Message, Rejection> {
    let place = |field: &str| format!("messages[{position}]{field}");
    if !message.get().starts_with('{') {
        return Err(Rejection::wrong_type(place(""), "an object"));
    }
    let known = fields(message.get());
    let role = match known.role.and_then(string).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        Some(_) => Role::Other,
        None => return Err(Rejection::wrong_type(place(".role"), "a string")),
    };
    let content = match known.content.map(RawValue::get) {
        None | Some("null" | "\"\"") => Content::Empty,
        Some(text) if text.starts_with('"') => Content::Text,
        Some(parts) if parts.starts_with('[') => check_parts(parts, &place(".content"))?,
        Some(_) => return Err(Rejection::wrong_type(place(".content"), "a string, a list of parts, or null")),
    };
    Ok(Message { role, content, at })
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

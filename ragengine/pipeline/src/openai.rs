//! OpenAI's wire: a chat request is read from it, and the body for the language model is written in it.
//!
//! The body stays the bytes that came. Only what the algorithm looks at is read out of them, so that a request costs what it weighs,
//! and numbers and their order go on as they were sent.

mod fields;

use bytes::Bytes;
use fields::Fields;
use ragengine_json::each_item;
use serde_json::value::RawValue;

use crate::chat_body::ChatBody;
use crate::conversation::{Conversation, Message};
use crate::request::Request;
use crate::{Rejection, plan};

/// Messages of one conversation: more than any model reads.
const MAX_MESSAGES: usize = 10_000;

/// Reads a body: its JSON, the types of the fields that are looked at, and the bounds of `context_token_ratio`
/// (which hold with or without an index). Fields that are not looked at are the upstream's to judge.
///
/// # Errors
///
/// [`Rejection::Json`], [`Rejection::Type`] or [`Rejection::ContextTokenRatio`].
pub fn read(body: Bytes) -> Result<Request, Rejection> {
    let fields = Fields::read(&body)?;
    let (choices, max_tokens) = (fields.natural("n"), fields.max_tokens());
    let model = fields.string("model")?.filter(|model| !model.is_empty());
    let request = Request {
        context_token_ratio: fields.context_token_ratio()?,
        index_name: fields.string("index_name")?.filter(|name| !name.is_empty()),
        explain: fields.boolean("explain")?,
        conversation: conversation(&body, fields.get("messages"))?,
        other_models: fields.other_models()?,
        stream: fields.boolean("stream")?,
        include_usage: fields.include_usage(),
        choices: choices.as_ref().ok().copied().flatten().unwrap_or(1),
        max_tokens: max_tokens.as_ref().ok().copied().flatten(),
        has_tools: ["tools", "functions"].iter().any(|name| fields.present(name).is_some()),
        body: ChatBody::new(&body, model.is_some(), |name| fields.get(name).is_some()),
        model,
    };
    // What is passed through is the language model's to judge: some take -1 for no bound.
    if plan::bypass(&request).is_none() {
        choices?;
        max_tokens?;
    }
    Ok(request)
}

/// The messages of a body, whose field this is.
fn conversation(body: &Bytes, field: Option<&RawValue>) -> Result<Conversation, Rejection> {
    let wrong = || Rejection::wrong_type("messages", "a list of messages");
    let list = field.filter(|field| field.get().starts_with('[')).ok_or_else(wrong)?;
    let (mut messages, mut rejected) = (Vec::new(), None);
    let read = each_item(&mut serde_json::Deserializer::from_str(list.get()), |message: &RawValue| {
        let parsed = match messages.len() {
            MAX_MESSAGES => {
                Err(Rejection::wrong_type("messages", &format!("a list of at most {MAX_MESSAGES} messages")))
            }
            // It was borrowed from the body.
            position => Message::parse(position, body.slice_ref(message.get().as_bytes())),
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
        (None, Ok(())) => Ok(Conversation { messages }),
    }
}

#[cfg(test)]
mod tests;

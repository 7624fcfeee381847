//! OpenAI's chat format: parses a chat request and writes the body for the language model.
//!
//! The body stays in memory as the original bytes, and only the fields that the server uses are parsed. So a request
//! costs about its own size in memory, and its numbers and their order are forwarded unchanged.

mod fields;

use bytes::Bytes;
use fields::Fields;
use ragengine_json::each_item;
use serde_json::value::RawValue;

use crate::chat_body::ChatBody;
use crate::conversation::{Conversation, Message};
use crate::request::Request;
use crate::{Rejection, plan};

/// The most messages in one conversation. No model accepts that many.
pub const MAX_MESSAGES: usize = 10_000;

/// Parses a body and checks its JSON, the types of the fields that the server uses, the range of `context_token_ratio`
/// and the filter (with or without an index). The language model checks all other fields.
///
/// # Errors
///
/// [`Rejection::Json`], [`Rejection::Type`], [`Rejection::ContextTokenRatio`] or [`Rejection::Filter`].
pub fn read(body: Bytes) -> Result<Request, Rejection> {
    let fields = Fields::read(&body)?;
    let (choices, max_tokens) = (fields.natural("n"), fields.max_tokens());
    let model = fields.string("model")?.filter(|model| !model.is_empty());
    let request = Request {
        context_token_ratio: fields.context_token_ratio()?,
        index_name: fields.string("index_name")?.filter(|name| !name.is_empty()),
        metadata_filter: fields.metadata_filter()?,
        stages: fields.stages()?,
        chat_mode: fields.chat_mode()?,
        explain: fields.boolean("explain")?,
        conversation: conversation(&body, fields.get("messages"))?,
        other_models: fields.other_models()?,
        stream: fields.boolean("stream")?,
        include_usage: fields.include_usage(),
        choices: choices.as_ref().ok().copied().flatten().unwrap_or(1),
        max_tokens: max_tokens.as_ref().ok().copied().flatten(),
        tools: ["tools", "functions"]
            .iter()
            .filter_map(|name| fields.present(name).filter(|field| !is_empty_list(field)))
            .map(|field| body.slice_ref(field.get().as_bytes()))
            .collect(),
        uses_index_with_tools: fields.boolean("rag_with_tools")?,
        body: ChatBody::new(&body, model.is_some(), |name| fields.get(name).is_some()),
        model,
    };
    // The language model checks these values if the request is passed through: some accept -1 for no limit.
    if plan::bypass(&request).is_none() {
        choices?;
        max_tokens?;
    }
    Ok(request)
}

/// Whether a field is `[]`. Some clients send it instead of leaving the field out.
fn is_empty_list(field: &RawValue) -> bool {
    let inner = field.get().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|inner| inner.trim().is_empty())
}

/// Parses the field `messages` of this body.
fn conversation(body: &Bytes, field: Option<&RawValue>) -> Result<Conversation, Rejection> {
    let wrong = || Rejection::wrong_type("messages", "a list of messages");
    let list = field.filter(|field| field.get().starts_with('[')).ok_or_else(wrong)?;
    let (mut messages, mut rejected) = (Vec::new(), None);
    let read = each_item(&mut serde_json::Deserializer::from_str(list.get()), |message: &RawValue| {
        let parsed = match messages.len() {
            MAX_MESSAGES => {
                Err(Rejection::wrong_type("messages", &format!("a list of at most {MAX_MESSAGES} messages")))
            }
            // The message borrows from the body, so this slice does not copy it.
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

//! Sends the answer to the client.

use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ragengine_pipeline::stream::{typed_event, with_fields};
use serde_json::json;

use super::begun::{Begun, Form};
use super::conversed;
use super::kept::Kept;
use super::ongoing::Ongoing;
use super::relay::Fields;
use crate::error::ApiError;
use crate::language_model::{Answer, LlmError};

/// The content type of our own replies.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The reply to a chat.
pub struct ChatReply {
    /// The id under which the answer can be voted on.
    pub answer_id: Option<String>,
    /// The answer.
    pub body: ChatReplyBody,
}

/// The answer to a chat.
pub enum ChatReplyBody {
    /// A whole answer.
    Whole {
        /// The content type of the reply.
        content_type: HeaderValue,
        /// The body of the reply.
        body: Bytes,
    },
    /// An event stream.
    Events(BoxStream<'static, Result<Bytes, Infallible>>),
}

/// Sends the answer of the language model with our fields. The answer can then be voted on.
///
/// # Errors
///
/// [`ApiError`] if the language model fails before the reply has started.
pub(super) async fn send(begun: Begun, mut kept: Option<Box<Kept>>, report: Ongoing) -> Result<ChatReply, ApiError> {
    if let Some(kept) = &mut kept {
        kept.recorded().await;
    }
    let answer_id = kept.as_ref().and_then(|kept| kept.answer_id.clone());
    Ok(ChatReply { answer_id, body: body(begun, kept, report).await? })
}

async fn body(begun: Begun, kept: Option<Box<Kept>>, mut report: Ongoing) -> Result<ChatReplyBody, ApiError> {
    match begun {
        // The built-in model has finished, so a client that disconnects now still counts as answered.
        Begun::Stream { relay, ready: Some(usage) } => {
            report.was_reported(Some(usage));
            report.first_word_came();
            report.succeeded();
            Ok(ChatReplyBody::Events(relay.events(None, kept)))
        }
        Begun::Stream { relay, ready: None } => Ok(ChatReplyBody::Events(relay.events(Some(report), kept))),
        Begun::Whole { answer: Ok(answer), fields, form } => {
            let usage = answer.said.usage;
            let mut kept = kept;
            let replied = match form {
                Form::Completion => completion(answer, fields, &mut kept).await,
                Form::Conversation | Form::ConversationEvents => conversation(answer, fields, form, &mut kept).await,
            };
            match replied {
                Ok(reply) => {
                    report.was_reported(usage);
                    report.succeeded();
                    kept.into_iter().for_each(|kept| kept.answered());
                    Ok(reply)
                }
                Err(error) => {
                    kept.into_iter().for_each(|kept| kept.failed());
                    Err(report.failed(error))
                }
            }
        }
        Begun::Whole { answer: Err(error), .. } => {
            kept.into_iter().for_each(|kept| kept.failed());
            Err(report.failed(error.into()))
        }
    }
}

/// The language model's reply with our fields.
async fn completion(answer: Answer, fields: Fields, kept: &mut Option<Box<Kept>>) -> Result<ChatReplyBody, ApiError> {
    let content_type = answer.content_type.clone().unwrap_or(JSON);
    let bytes = answer.raw.len();
    let needs_text = kept.as_ref().is_some_and(|kept| kept.needs_text());
    let mark = move |_: &_| {
        let choice = if needs_text { answer.choices().into_iter().next() } else { None };
        Ok::<_, ApiError>((marked(&answer, &fields)?, choice))
    };
    let (body, choice) = ragengine_compute::run(bytes, mark).await?;
    if let Some(kept) = kept {
        kept.hear_choice(choice.as_ref());
    }
    Ok(ChatReplyBody::Whole { content_type, body: body.into() })
}

/// The reply of a conversation, after its turn is kept.
async fn conversation(
    answer: Answer,
    fields: Fields,
    form: Form,
    kept: &mut Option<Box<Kept>>,
) -> Result<ChatReplyBody, ApiError> {
    let bytes = answer.raw.len();
    let first = move |_: &_| Ok::<_, ApiError>(answer.choices().into_iter().next());
    let choice = ragengine_compute::run(bytes, first).await?;
    let Some(choice) = choice else {
        return Err(LlmError::Nonsense("its reply has no choices".to_owned()).into());
    };
    let mut turn = None;
    if let Some(kept) = kept {
        kept.hear_choice(Some(&choice));
        turn = kept.turn.take();
    }
    let is_kept = conversed::keep(turn).await;
    let reply = conversed::reply(&choice.text, fields, is_kept);
    if form == Form::Conversation {
        return Ok(ChatReplyBody::Whole { content_type: JSON, body: reply.into() });
    }
    let token = typed_event("token", &json!({"text": choice.text}).to_string());
    let events = [Ok(Bytes::from(token)), Ok(Bytes::from(typed_event("done", &reply)))];
    Ok(ChatReplyBody::Events(stream::iter(events).boxed()))
}

/// A whole answer with our fields. The error does not quote the answer, because it may contain a user's text or the
/// key.
fn marked(answer: &Answer, fields: &[(&'static str, String)]) -> Result<String, LlmError> {
    let text = answer.json()?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    with_fields(&answer.said.dated(text, seconds), fields)
        .ok_or_else(|| LlmError::Nonsense(format!("it is not a JSON object, of {} bytes", text.len())))
}

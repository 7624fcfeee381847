//! Sends the answer to the client.

use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use ragengine_pipeline::stream::{Usage, with_fields};

use super::begun::Begun;
use super::kept::Kept;
use super::ongoing::Ongoing;
use super::relay::Fields;
use crate::error::ApiError;
use crate::language_model::{Answer, LlmError};

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

async fn body(begun: Begun, mut kept: Option<Box<Kept>>, mut report: Ongoing) -> Result<ChatReplyBody, ApiError> {
    match begun {
        // The built-in model has finished, so a client that disconnects now still counts as answered.
        Begun::Stream { relay, ready: Some(usage) } => {
            report.was_reported(Some(usage));
            report.first_word_came();
            report.succeeded();
            Ok(ChatReplyBody::Events(relay.events(None, kept)))
        }
        Begun::Stream { relay, ready: None } => Ok(ChatReplyBody::Events(relay.events(Some(report), kept))),
        Begun::Whole { answer, fields } => match marked_apart(answer, fields, &mut kept).await {
            Ok((reply, usage)) => {
                report.was_reported(usage);
                report.succeeded();
                if let Some(kept) = kept {
                    kept.answered();
                }
                Ok(reply)
            }
            Err(error) => Err(report.failed(error)),
        },
    }
}

async fn marked_apart(
    answer: Result<Answer, LlmError>,
    fields: Fields,
    kept: &mut Option<Box<Kept>>,
) -> Result<(ChatReplyBody, Option<Usage>), ApiError> {
    let answer = answer?;
    let usage = answer.said.usage;
    let content_type = answer.content_type.clone().unwrap_or(HeaderValue::from_static("application/json"));
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
    Ok((ChatReplyBody::Whole { content_type, body: body.into() }, usage))
}

/// A whole answer with our fields. The error does not quote the answer, because it may contain a user's text or the
/// key.
fn marked(answer: &Answer, fields: &[(&'static str, String)]) -> Result<String, LlmError> {
    let text = answer.json()?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    with_fields(&answer.said.dated(text, seconds), fields)
        .ok_or_else(|| LlmError::Nonsense(format!("it is not a JSON object, of {} bytes", text.len())))
}

//! Sends the answer to the client.

use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use ragengine_pipeline::stream::{Usage, with_fields};

use super::begun::Begun;
use super::ongoing::Ongoing;
use super::relay::{Fields, Relay};
use crate::error::ApiError;
use crate::language_model::{Answer, LlmError};

/// The reply to a chat.
pub enum ChatReply {
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

/// Sends the answer of the language model with our fields.
///
/// # Errors
///
/// [`ApiError`] if the language model fails before the reply has started.
pub(super) async fn send(begun: Begun, mut report: Ongoing) -> Result<ChatReply, ApiError> {
    match begun {
        // The built-in model has finished, so a client that disconnects now still counts as answered.
        Begun::Stream { relay, ready: Some(usage) } => {
            report.was_reported(Some(usage));
            report.first_word_came();
            report.succeeded();
            Ok(ChatReply::Events(Relay::events(relay, None)))
        }
        Begun::Stream { relay, ready: None } => Ok(ChatReply::Events(Relay::events(relay, Some(report)))),
        Begun::Whole { answer, fields } => match marked_apart(answer, fields).await {
            Ok((reply, usage)) => {
                report.was_reported(usage);
                report.succeeded();
                Ok(reply)
            }
            Err(error) => Err(report.failed(error)),
        },
    }
}

async fn marked_apart(
    answer: Result<Answer, LlmError>,
    fields: Fields,
) -> Result<(ChatReply, Option<Usage>), ApiError> {
    let answer = answer?;
    let usage = answer.said.usage;
    let content_type = answer.content_type.clone().unwrap_or(HeaderValue::from_static("application/json"));
    let bytes = answer.raw.len();
    let mark = move |_: &_| Ok::<_, ApiError>(marked(&answer, &fields)?);
    let body = ragengine_compute::run(bytes, mark).await?.into();
    Ok((ChatReply::Whole { content_type, body }, usage))
}

/// A whole answer with our fields. The error does not quote the answer, because it may contain a user's text or the
/// key.
fn marked(answer: &Answer, fields: &[(&'static str, String)]) -> Result<String, LlmError> {
    let text = answer.json()?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    with_fields(&answer.said.dated(text, seconds), fields)
        .ok_or_else(|| LlmError::Nonsense(format!("it is not a JSON object, of {} bytes", text.len())))
}

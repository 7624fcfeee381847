//! The answer on its way to the client.

use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use ragengine_pipeline::stream::{Usage, Whole, with_fields};

use super::ongoing::Ongoing;
use super::relay::{Begun, Fields, Relay};
use crate::error::ApiError;
use crate::language_model::{Completion, LlmError};

/// A reply to a chat.
pub enum ChatReply {
    /// The whole answer.
    Whole {
        /// Its content type.
        content_type: HeaderValue,
        /// Its bytes.
        body: Bytes,
    },
    /// Events, as they come.
    Events(BoxStream<'static, Result<Bytes, Infallible>>),
}

/// Sends what the language model says, with our fields.
///
/// # Errors
///
/// What it says before the reply has begun.
pub(super) async fn send(begun: Begun, mut report: Ongoing) -> Result<ChatReply, ApiError> {
    match begun {
        Begun::Stream(relay) => Ok(ChatReply::Events(Relay::events(relay, report))),
        Begun::Whole { completion, fields } => match marked_apart(completion, fields).await {
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
    completion: Result<Completion, LlmError>,
    fields: Fields,
) -> Result<(ChatReply, Option<Usage>), ApiError> {
    let Completion { content_type, body } = completion?;
    let bytes = body.len();
    let mark = move |_: &_| Ok::<_, ApiError>(marked(&body, &fields)?);
    let (marked, usage) = ragengine_compute::run(bytes, mark).await?;
    let content_type = content_type.unwrap_or(HeaderValue::from_static("application/json"));
    Ok((ChatReply::Whole { content_type, body: marked.into() }, usage))
}

/// A whole answer with our fields, and the tokens that it reports. What cannot be used is not quoted: it may hold a user's text, or the
/// key.
fn marked(body: &[u8], fields: &[(&'static str, String)]) -> Result<(String, Option<Usage>), LlmError> {
    let nonsense = |what: &str| LlmError::Nonsense(format!("{what}, of {} bytes", body.len()));
    let text = std::str::from_utf8(body).map_err(|_| nonsense("it is not text"))?;
    let whole = Whole::read(text).ok_or_else(|| nonsense("it is not JSON"))?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let marked = with_fields(&whole.dated(text, seconds), fields).ok_or_else(|| nonsense("it is not a JSON object"))?;
    Ok((marked, whole.usage))
}

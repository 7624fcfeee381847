//! Sends the answer to the client.

use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ragengine_pipeline::stream::{Change, Choice, Whole, token_event, typed_event, with_changes, with_fields};

use super::begun::{Begun, Form};
use super::closing::Closing;
use super::conversed;
use super::hearing::Hearing;
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
    /// What the cache did, for the header `x-cache`.
    pub cache: Option<&'static str>,
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
pub(super) async fn send(
    begun: Begun,
    mut kept: Option<Box<Kept>>,
    cache: Option<&'static str>,
    report: Ongoing,
) -> Result<ChatReply, ApiError> {
    if let Some(kept) = &mut kept {
        kept.recorded().await;
    }
    let answer_id = kept.as_ref().and_then(|kept| kept.answer_id.clone());
    Ok(ChatReply { answer_id, cache, body: body(begun, kept, report).await? })
}

async fn body(begun: Begun, kept: Option<Box<Kept>>, mut report: Ongoing) -> Result<ChatReplyBody, ApiError> {
    let mut hearing = Hearing { kept, turn: None };
    let (replied, usage) = match begun {
        // The built-in model has finished, so a client that disconnects now still counts as answered.
        Begun::Stream { relay, ready: Some(usage) } => {
            report.was_reported(Some(usage));
            report.first_word_came();
            report.succeeded();
            return Ok(ChatReplyBody::Events(relay.events(None, hearing.kept)));
        }
        Begun::Stream { relay, ready: None } => {
            return Ok(ChatReplyBody::Events(relay.events(Some(report), hearing.kept)));
        }
        Begun::Whole { answer: Ok(answer), form } => {
            let usage = answer.said.usage;
            (whole(answer, form, &mut hearing).await, usage)
        }
        Begun::Whole { answer: Err(error), .. } => (Err(error.into()), None),
        Begun::Known { text, form } => (known(text, form, &mut hearing).await, None),
    };
    match replied {
        Ok(reply) => {
            report.was_reported(usage);
            report.succeeded();
            hearing.kept.into_iter().for_each(|kept| kept.answered());
            Ok(reply)
        }
        Err(error) => {
            hearing.kept.into_iter().for_each(|kept| kept.failed());
            Err(report.failed(error))
        }
    }
}

/// The reply with a whole answer of the language model.
async fn whole(answer: Answer, form: Form, hearing: &mut Hearing) -> Result<ChatReplyBody, ApiError> {
    match form {
        Form::AsItComes(fields) => completion(answer, fields, hearing).await,
        Form::Completion(closing) if closing.stages.is_empty() => {
            completion(answer, closing.into_fields(), hearing).await
        }
        Form::Completion(closing) => staged_completion(answer, *closing, hearing).await,
        form @ (Form::Conversation(_) | Form::ConversationEvents(_)) => {
            let Choice { text, finish_reason, .. } = first_choice(answer).await?;
            conversation(&text, finish_reason.as_deref(), form, hearing).await
        }
    }
}

/// The reply with an answer that is known without the language model.
async fn known(text: String, form: Form, hearing: &mut Hearing) -> Result<ChatReplyBody, ApiError> {
    conversation(&text, Some("stop"), form, hearing).await
}

async fn first_choice(answer: Answer) -> Result<Choice, ApiError> {
    let bytes = answer.raw.len();
    let first = move |_: &_| Ok::<_, ApiError>(answer.choices().into_iter().next());
    let choice = ragengine_compute::run(bytes, first).await?;
    choice.ok_or_else(|| LlmError::Nonsense("its reply has no choices".to_owned()).into())
}

/// The language model's reply with our fields.
async fn completion(answer: Answer, fields: Fields, hearing: &mut Hearing) -> Result<ChatReplyBody, ApiError> {
    let content_type = answer.content_type.clone().unwrap_or(JSON);
    let bytes = answer.raw.len();
    let needs_text = hearing.kept.as_ref().is_some_and(|kept| kept.needs_text());
    let mark = move |_: &_| {
        let choice = if needs_text { answer.choices().into_iter().next() } else { None };
        Ok::<_, ApiError>((marked(&answer.said, answer.json()?, &fields)?, choice))
    };
    let (body, choice) = ragengine_compute::run(bytes, mark).await?;
    choice.iter().for_each(|choice| hearing.hear_text(&choice.text, choice.finish_reason.as_deref()));
    Ok(ChatReplyBody::Whole { content_type, body: body.into() })
}

/// The language model's reply, whose text has passed the stages, with our fields.
async fn staged_completion(answer: Answer, closing: Closing, hearing: &mut Hearing) -> Result<ChatReplyBody, ApiError> {
    let content_type = answer.content_type.clone().unwrap_or(JSON);
    let (bytes, stages) = (answer.raw.len(), closing.stages.clone());
    let pass = move |_: &_| {
        let mut ended = None;
        let changed = with_changes(answer.json()?, stages.is_strict(), |choice| {
            let mut open = stages.begin();
            open.hear_calls(choice.has_calls);
            let are_permitted = open.permit_calls(&choice.tool_calls);
            let (text, end) = open.whole(&choice.text, choice.finish_reason.as_deref());
            let (finish_reason, keeps_calls) = (end.finish_reason(), are_permitted && !end.is_blocked());
            ended.get_or_insert((text.clone(), choice.finish_reason.clone(), end));
            Change { text, finish_reason, keeps_calls }
        });
        let nothing = || LlmError::Nonsense("its reply has no choices that can be read".to_owned());
        let changed = changed.ok_or_else(nothing)?;
        // Its time is at another place than in the original.
        let said = Whole::read(&changed).ok_or_else(nothing)?;
        Ok::<_, ApiError>((said, changed, ended.ok_or_else(nothing)?))
    };
    let (said, changed, (text, finish_reason, end)) = ragengine_compute::run(bytes, pass).await?;
    hearing.hear_text(&text, end.finish_reason().or(finish_reason.as_deref()));
    hearing.ends(&end);
    let fields = closing.close(end, &text, finish_reason.as_deref()).await.fields;
    Ok(ChatReplyBody::Whole { content_type, body: marked(&said, &changed, &fields)?.into() })
}

/// The reply of a conversation, after its turn is kept.
async fn conversation(
    answer: &str,
    finish_reason: Option<&str>,
    form: Form,
    hearing: &mut Hearing,
) -> Result<ChatReplyBody, ApiError> {
    let (closing, is_stream) = match form {
        Form::Conversation(closing) => (closing, false),
        Form::ConversationEvents(closing) => (closing, true),
        Form::AsItComes(_) | Form::Completion(_) => {
            return Err(ApiError::Internal("a completion was sent as a conversation".to_owned()));
        }
    };
    hearing.turn = hearing.kept.as_mut().and_then(|kept| kept.turn.take());
    let (bytes, stages) = (answer.len(), closing.stages.begin());
    let (given, reason) = (answer.to_owned(), finish_reason.map(str::to_owned));
    let pass = move |_: &_| Ok::<_, ApiError>(stages.whole(&given, reason.as_deref()));
    let (text, end) = ragengine_compute::run(bytes, pass).await?;
    hearing.hear_text(&text, end.finish_reason().or(finish_reason));
    hearing.ends(&end);
    let endpoint = closing.endpoint;
    let closed = closing.close(end, &text, finish_reason).await;
    if let (Some(turn), Some(sources)) = (&hearing.turn, &closed.sources) {
        turn.has_sources(sources);
    }
    let is_kept = conversed::keep(hearing.turn.take()).await;
    let reply = conversed::reply(endpoint, &text, closed.fields, is_kept);
    if !is_stream {
        return Ok(ChatReplyBody::Whole { content_type: JSON, body: reply.into() });
    }
    let events = [Ok(Bytes::from(token_event(&text))), Ok(Bytes::from(typed_event("done", &reply)))];
    Ok(ChatReplyBody::Events(stream::iter(events).boxed()))
}

/// A whole answer with our fields. The error does not quote the answer, because it may contain a user's text or the
/// key.
fn marked(said: &Whole, text: &str, fields: &[(&'static str, String)]) -> Result<String, LlmError> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    with_fields(&said.dated(text, seconds), fields)
        .ok_or_else(|| LlmError::Nonsense(format!("it is not a JSON object, of {} bytes", text.len())))
}

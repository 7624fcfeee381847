//! A reply with an answer that was known.

use std::sync::Arc;

use super::super::answered_event::PendingEvent;
use super::super::cached::{Entry, Keys};
use super::super::closing::{CITATIONS, Closing};
use super::super::conversed::HISTORY_UNAVAILABLE;
use super::super::kept::Kept;
use super::super::ongoing::Ongoing;
use super::super::question::Asked;
use super::super::relay::{Fields, Passing};
use super::{Asking, UpstreamRequest, json_text, to_ask};
use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::retrieval::stages::Endpoint;

/// An answer that was known.
pub(in super::super) struct Known {
    /// The answer, with what its reply has.
    pub entry: Arc<Entry>,
    /// The keys of the question.
    pub keys: Keys,
    /// The question that needs no history.
    pub condensed_question: Option<String>,
}

/// Prepares the reply with an answer that was known. The language model is not asked.
///
/// # Errors
///
/// When the server is not ready, or there is no valid policy for answers.
pub(in super::super) fn known(
    app: &App,
    (asked, caller): (&Asked, &Caller),
    Known { entry, keys, condensed_question }: Known,
    report: &mut Ongoing,
) -> Result<UpstreamRequest, ApiError> {
    let endpoint = asked.way.endpoint;
    report.is_known();
    let mut kept = Kept::known(app, asked, &entry, &keys)?.map(Box::new);
    let mut fields = Fields::new();
    if endpoint == Endpoint::Query {
        fields.push(("sources", entry.sources.clone()));
    }
    if let Some(citations) = &entry.citations {
        fields.push((CITATIONS, citations.clone()));
    }
    fields.extend(of_conversation(asked, kept.as_deref(), condensed_question.as_ref())?);
    if let Some(kept) = &mut kept {
        kept.begin_turn(asked, &entry.sources);
    }
    let closing = Box::new(Closing {
        question: (endpoint == Endpoint::Chat).then(|| asked.turn.user_prompt.clone()),
        event: PendingEvent::new(app, caller, asked, report.started(), entry.retrieval_count)
            .map(|event| event.citing(entry.citation_count)),
        // The answer has passed its stages, under the policy that still holds.
        ..Closing::new(app, asked, report, fields)
    });
    let asking = Asking::NoModel(entry.answer.clone());
    Ok(UpstreamRequest { kept, ..to_ask(app, asking, Passing::Conversation(closing), &asked.request) })
}

/// The fields of a reply of our own, besides its answer and its passages.
pub(super) fn of_conversation(
    asked: &Asked,
    kept: Option<&Kept>,
    condensed_question: Option<&String>,
) -> Result<Fields, ApiError> {
    let mut fields = Fields::new();
    let conversation = asked.way.conversation.as_ref();
    if let (Endpoint::Query, Some(conversation)) = (asked.way.endpoint, conversation) {
        fields.push(("session_id", json_text(&conversation.session_id)?));
    }
    if let Some(id) = kept.and_then(|kept| kept.answer_id.as_ref()) {
        fields.push(("answer_id", json_text(id)?));
    }
    if conversation.is_some_and(|conversation| conversation.place.is_none()) {
        fields.push(("history", HISTORY_UNAVAILABLE.to_owned()));
    }
    if let Some(question) = condensed_question {
        fields.push(("condensed_question", json_text(question)?));
    }
    Ok(fields)
}

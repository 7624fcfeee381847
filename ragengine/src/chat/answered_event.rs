//! The events about a question and its answer.

use std::sync::Arc;
use std::time::Instant;

use ragengine_events::{Events, QuerySubmitted, ResponseGenerated};

use super::question::Asked;
use crate::access::Caller;
use crate::app::App;

/// The event about an answer that is not there yet.
pub(super) struct PendingEvent {
    events: Arc<Events>,
    started: Instant,
    event: ResponseGenerated,
}

impl PendingEvent {
    /// Prepares the event about the answer to a question for which so many chunks were found, if that is known. None if
    /// no events are published.
    pub fn new(app: &App, caller: &Caller, asked: &Asked, started: Instant, found: Option<u64>) -> Option<Self> {
        let events = app.events.get().filter(|_| asked.on.events)?;
        let event = ResponseGenerated {
            query: asked.turn.user_prompt.clone(),
            response: String::new(),
            model_id: asked.served.name.clone(),
            latency_ms: None,
            citation_count: None,
            retrieval_count: found,
            user_id: user_id(caller),
        };
        Some(Self { events: Arc::clone(events), started, event })
    }

    /// The event about an answer that is known to cite so many sources.
    pub fn citing(mut self, citation_count: Option<u64>) -> Self {
        self.event.citation_count = citation_count;
        self
    }

    /// Publishes it with the answer. The number of citations is unknown if they are not checked, now or earlier.
    pub fn publish(self, answer: &str, citation_count: Option<u64>) {
        let Self { events, started, event } = self;
        events.publish(ResponseGenerated {
            response: answer.to_owned(),
            latency_ms: u64::try_from(started.elapsed().as_millis()).ok(),
            citation_count: citation_count.or(event.citation_count),
            ..event
        });
    }
}

/// Publishes the event about a question that the caller may ask.
pub(crate) fn question_submitted(
    app: &App,
    caller: &Caller,
    query: &str,
    session_id: Option<&str>,
    model_id: Option<&str>,
) {
    let Some(events) = app.events.get() else { return };
    events.publish(QuerySubmitted {
        query: query.to_owned(),
        user_id: user_id(caller),
        session_id: session_id.map(str::to_owned),
        model_id: model_id.map(str::to_owned),
    });
}

/// The id of a user, or the name of another caller.
fn user_id(caller: &Caller) -> Option<String> {
    let principal = caller.principal()?;
    // The id of a user may look like the name of another kind of caller, and then keeps its own kind.
    let id = principal.strip_prefix("user:").filter(|id| !id.contains(':'));
    Some(id.unwrap_or(principal).to_owned())
}

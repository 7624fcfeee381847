//! The end of an answer in a conversation: its turn is kept, and the reply is written.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use ragengine_errors::Logged as _;
use ragengine_pipeline::stream::{Choice, Piece, Said};
use ragengine_stores::Turn;
use serde_json::Value;
use tokio::time::timeout;
use tracing::warn;

use super::relay::Fields;
use crate::converse::Place;

/// The value of the field `history` if the conversation cannot be read or kept.
pub(super) const HISTORY_UNAVAILABLE: &str = "\"unavailable\"";

/// How long a reply waits until its turn is kept.
const KEEPING_TIMEOUT: Duration = Duration::from_secs(1);

/// The finish reason of an answer that is whole.
const WHOLE: &str = "stop";

/// A turn whose answer is not finished. If it is dropped before, the client has left: it is kept as far as it got.
pub(super) struct OpenTurn(Option<Box<Open>>);

struct Open {
    place: Place,
    turn: Turn,
    started: Instant,
}

impl OpenTurn {
    /// Begins the turn of a question.
    pub fn begin(place: Place, question: String, model: Option<String>, answer_id: Option<String>) -> Self {
        let turn = Turn {
            seq: place.seq,
            question,
            answer: String::new(),
            sources: "[]".to_owned(),
            response_time_ms: 0,
            model,
            answer_id,
            complete: false,
            created_at_ms: Timestamp::now().as_millisecond(),
        };
        Self(Some(Box::new(Open { place, turn, started: Instant::now() })))
    }

    /// The passages in the prompt, as a JSON list.
    pub fn has_sources(&mut self, sources: &str) {
        if let Some(open) = &mut self.0 {
            sources.clone_into(&mut open.turn.sources);
        }
    }

    /// Adds the text in a piece of a stream.
    pub fn hear(&mut self, piece: &Piece) {
        for chunk in &piece.chunks {
            let Said::Answer { deltas, .. } = &chunk.said else { continue };
            for delta in deltas.iter().filter(|delta| delta.choice == 0) {
                self.hear_text(&delta.text, delta.finish_reason.as_deref());
            }
        }
    }

    /// Adds the first choice of a whole answer.
    pub fn hear_choice(&mut self, choice: &Choice) {
        self.hear_text(&choice.text, choice.finish_reason.as_deref());
    }

    fn hear_text(&mut self, text: &str, finish_reason: Option<&str>) {
        if let Some(Open { turn, .. }) = self.0.as_deref_mut() {
            turn.answer.push_str(text);
            turn.complete = turn.complete || finish_reason == Some(WHOLE);
        }
    }

    /// The answer has failed. What was sent of it is kept in the background.
    pub fn failed(mut self) {
        self.0 = self.0.take().filter(|open| !open.turn.answer.is_empty());
    }

    /// Keeps the turn. Returns whether it is kept, or was cleared meanwhile.
    async fn end(mut self) -> bool {
        match self.0.take() {
            Some(open) => open.keep().await,
            None => true,
        }
    }
}

impl Open {
    async fn keep(mut self) -> bool {
        self.turn.response_time_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let Place { store, key, seq: _ } = self.place;
        // A task of its own, so that a client that disconnects does not stop it.
        let keeping = tokio::spawn(async move { store.add(&key, self.turn).await });
        match timeout(KEEPING_TIMEOUT, keeping).await {
            Ok(Ok(Ok(_))) => true,
            Ok(Ok(Err(error))) => {
                warn!(kind = error.kind(), reason = error.for_log(), "turn not kept: later questions do not know it");
                false
            }
            Ok(Err(_)) | Err(_) => {
                warn!(kind = "timeout", "turn not kept in time");
                false
            }
        }
    }
}

impl Drop for OpenTurn {
    fn drop(&mut self) {
        if let (Some(mut open), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            open.turn.complete = false;
            drop(runtime.spawn(open.keep()));
        }
    }
}

/// Keeps the turn of a finished answer. Returns whether it is kept. Without a turn there is nothing to keep.
pub(super) async fn keep(turn: Option<OpenTurn>) -> bool {
    match turn {
        Some(turn) => turn.end().await,
        None => true,
    }
}

/// The reply of a conversation, as JSON on one line.
pub(super) fn reply(answer: &str, mut fields: Fields, is_kept: bool) -> String {
    if !is_kept {
        fields.push(("history", HISTORY_UNAVAILABLE.to_owned()));
    }
    let fields: String = fields.into_iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
    format!("{{\"answer\":{}{fields}}}", Value::from(answer))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_has_the_answer_first() {
        let fields = || vec![("sources", "[]".to_owned()), ("session_id", "\"abc12345\"".to_owned())];
        assert_eq!(
            reply("1 May\n\"[1]\"", fields(), true),
            r#"{"answer":"1 May\n\"[1]\"","sources":[],"session_id":"abc12345"}"#
        );
        let reply: Value = serde_json::from_str(&reply("", fields(), false)).unwrap();
        assert_eq!(reply["history"], json!("unavailable"));
    }
}

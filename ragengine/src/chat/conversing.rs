//! Streams the text of an answer as events of our own.

use bytes::Bytes;
use ragengine_pipeline::stream::{TokenReader, UNCHECKED, Verdict, token_event, typed_event};

use super::answer_stages::ChoiceStages;
use super::closing::Closing;
use super::conversed;
use super::hearing::Hearing;
use super::open_turn::OpenTurn;
use crate::error::{ApiError, PlainError};
use crate::language_model::{EventStream, LlmError};

/// An answer that is streamed as text.
pub(super) struct Conversing {
    events: EventStream,
    reader: TokenReader,
    stages: ChoiceStages,
    closing: Box<Closing>,
    /// The text so far, after its stages.
    text: String,
}

impl Conversing {
    /// Streams the text in these events.
    pub fn new(events: EventStream, closing: Closing) -> Self {
        let stages = closing.stages.begin();
        Self { events, reader: TokenReader::default(), stages, closing: Box::new(closing), text: String::new() }
    }

    /// The event for the next piece, empty if its text is held back. Nothing is lost if the future is dropped early.
    pub async fn next(&mut self, hearing: &mut Hearing) -> Option<Result<Bytes, LlmError>> {
        // What follows `[DONE]` or an error is not awaited.
        if self.reader.is_done() || self.reader.error().is_some() || self.stages.is_blocked() {
            return None;
        }
        let piece = match self.events.next().await? {
            Ok(piece) => piece,
            Err(error) => return Some(Err(error)),
        };
        let read = self.reader.read(&piece).map_err(|error| LlmError::Nonsense(error.to_string()));
        Some(read.map(|part| {
            let part = if part.is_empty() { part } else { self.stages.push(&part) };
            hearing.hear_text(&part, None);
            self.text.push_str(&part);
            token_event(&part).into()
        }))
    }

    /// The events that end the answer: the rest of its text, and the whole reply, after its turn is kept.
    pub async fn close(self: Box<Self>, hearing: &mut Hearing) -> Bytes {
        let Self { events, reader, stages, closing, mut text } = *self;
        if let Some(message) = reader.error() {
            hearing.turn.take().into_iter().for_each(OpenTurn::failed);
            let message = if closing.stages.is_strict() { UNCHECKED } else { &events.without_key(message) };
            let error = LlmError::Nonsense(format!("its stream carries an error: {message}"));
            return error_event(ApiError::from(error));
        }
        let (rest, end) = stages.finish(reader.finish_reason());
        text.push_str(&rest);
        hearing.hear_text(&rest, end.finish_reason().or(reader.finish_reason()));
        hearing.ends(&end);
        let endpoint = closing.endpoint;
        let closed = closing.close(end, &text, reader.finish_reason()).await;
        let turn = hearing.turn.take();
        if let (Some(turn), Some(sources)) = (&turn, &closed.sources) {
            turn.has_sources(sources);
        }
        let is_kept = conversed::keep(turn).await;
        hearing.kept.take().into_iter().for_each(|kept| kept.answered());
        let reply = conversed::reply(endpoint, &text, closed.fields, is_kept);
        (token_event(&rest) + &typed_event("done", &reply)).into()
    }

    /// Whether any text has been read.
    pub fn has_words(&self) -> bool {
        self.reader.has_text()
    }

    /// The result of the answer. None until its end.
    pub fn verdict(&self) -> Option<Verdict> {
        let is_over = self.reader.is_done() || self.reader.error().is_some() || self.stages.is_blocked();
        let has_ended = self.events.has_ended() || is_over;
        has_ended.then(|| self.reader.verdict())
    }
}

/// The event for a failed answer.
pub(super) fn error_event(error: ApiError) -> Bytes {
    typed_event("error", &PlainError(error).body().to_string()).into()
}

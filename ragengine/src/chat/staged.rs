//! Forwards a streamed completion whose answer passes stages.

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ragengine_pipeline::stream::{
    Change, Chunk, Delta, MAX_CHOICES, Piece, Rewriting, Said, Unchecked, Verdict, Writer,
};

use super::answer_stages::{AnswerEnd, AnswerStages, ChoiceStages};
use super::closing::{Closed, Closing};
use super::hearing::Hearing;
use crate::language_model::{EventStream, LlmError};

/// A completion whose text passes stages. One from an index has a single choice.
pub(super) struct Staged {
    events: EventStream,
    rewriting: Rewriting,
    writer: Writer,
    choices: Choices,
    state: State,
    /// Whether the language model is not listened to any more.
    is_cut: bool,
}

enum State {
    /// The answer arrives.
    Open(Box<Closing>),
    /// The answer has ended, and its fields are computed. The events wait for them.
    Closing(BoxFuture<'static, Closed>, Vec<Chunk>),
    /// The fields are in the writer.
    Closed,
}

/// The choices of an answer.
struct Choices {
    stages: AnswerStages,
    /// By number. None once a choice has ended.
    open: Vec<(u64, Option<ChoiceStages>)>,
    ended: u64,
    wanted: u64,
    /// The end of the first choice, and its text after its stages.
    first: (Option<AnswerEnd>, String),
}

impl Choices {
    /// What is sent of a part of a choice.
    fn pass(&mut self, delta: &Delta, hearing: &mut Hearing) -> Change {
        let Some(stages) = self.of(delta.choice) else { return Change::default() };
        let Some(open) = stages else { return Change::default() };
        open.hear_calls(delta.has_calls);
        let mut keeps_calls = open.permit_calls(&delta.tool_calls);
        let mut text = open.push(&delta.text);
        let mut finish_reason = None;
        if delta.finish_reason.is_some() {
            let (rest, end) = stages.take().unwrap_or_default().finish(delta.finish_reason.as_deref());
            text.push_str(&rest);
            finish_reason = end.finish_reason();
            keeps_calls &= !end.is_blocked();
            self.end(delta.choice, end);
        }
        if delta.choice == 0 {
            self.first.1.push_str(&text);
            hearing.hear_text(&text, finish_reason.or(delta.finish_reason.as_deref()));
        }
        Change { text, finish_reason, keeps_calls }
    }

    fn of(&mut self, choice: u64) -> Option<&mut Option<ChoiceStages>> {
        let place = match self.open.iter().position(|(number, _)| *number == choice) {
            Some(place) => place,
            None if self.open.len() == MAX_CHOICES => return None,
            None => {
                self.open.push((choice, Some(self.stages.begin())));
                self.open.len() - 1
            }
        };
        self.open.get_mut(place).map(|(_, stages)| stages)
    }

    fn end(&mut self, choice: u64, end: AnswerEnd) {
        self.ended += 1;
        if choice == 0 {
            self.first.0 = Some(end);
        }
    }

    /// Ends the choices that have no finish reason. Returns the rest of their texts.
    fn finish(&mut self) -> Vec<(u64, String)> {
        let mut rests = Vec::new();
        for (choice, stages) in &mut self.open {
            let Some(stages) = stages.take() else { continue };
            let (rest, end) = stages.finish(None);
            self.ended += 1;
            if *choice == 0 {
                self.first.0 = Some(end);
                self.first.1.push_str(&rest);
            }
            rests.push((*choice, rest));
        }
        rests
    }

    /// Whether all answers that the caller asks for have ended.
    fn have_ended(&self) -> bool {
        self.ended >= self.wanted
    }

    /// Whether the only answer is blocked before its end.
    fn are_blocked(&self) -> bool {
        let is_blocked =
            |(_, stages): &(u64, Option<ChoiceStages>)| stages.as_ref().is_some_and(ChoiceStages::is_blocked);
        self.wanted == 1 && self.open.iter().any(is_blocked)
    }
}

impl Staged {
    /// Forwards these events.
    pub fn new(events: EventStream, closing: Closing) -> Self {
        Self {
            events,
            rewriting: if closing.stages.is_strict() { Rewriting::strict() } else { Rewriting::default() },
            writer: Writer::default(),
            choices: Choices {
                stages: closing.stages.clone(),
                open: Vec::new(),
                ended: 0,
                wanted: closing.choices,
                first: (None, String::new()),
            },
            state: State::Open(Box::new(closing)),
            is_cut: false,
        }
    }

    /// The bytes to send for the next piece. Nothing is lost if the future is dropped early.
    pub async fn next(&mut self, hearing: &mut Hearing) -> Option<Result<Bytes, LlmError>> {
        if let State::Closing(closing, waiting) = &mut self.state {
            let closed = closing.await;
            let chunks = std::mem::take(waiting);
            self.state = State::Closed;
            self.writer.add_fields(closed.fields);
            return Some(Ok(self.write(chunks)));
        }
        if self.is_cut {
            return None;
        }
        match self.events.next().await? {
            Ok(piece) => {
                let passed = piece.chunks.into_iter().map(|chunk| self.pass(chunk, hearing));
                let chunks: Result<Vec<_>, _> = passed.collect();
                let chunks = chunks.map_err(|error| LlmError::Nonsense(error.to_string()));
                Some(chunks.map(|chunks| self.write(chunks.concat())))
            }
            Err(error) => Some(Err(error)),
        }
    }

    fn write(&mut self, chunks: Vec<Chunk>) -> Bytes {
        self.writer.write(Piece { raw: Bytes::new(), chunks })
    }

    /// The events that can be sent now instead of this one.
    fn pass(&mut self, chunk: Chunk, hearing: &mut Hearing) -> Result<Vec<Chunk>, Unchecked> {
        if self.is_cut {
            return Ok(Vec::new());
        }
        let is_open = matches!(self.state, State::Open(_));
        let choices = &mut self.choices;
        // A choice that has ended has no more text.
        let mut events = self.rewriting.rewrite(chunk, |delta| choices.pass(delta, hearing))?;
        let is_done = events.last().is_some_and(|last| last.said == Said::Done);
        if is_open && is_done {
            let done = events.pop().into_iter().collect();
            let rests = self.choices.finish();
            let parts = rests.iter().filter(|(_, rest)| !rest.is_empty());
            events.extend(parts.map(|(choice, rest)| self.rewriting.part(*choice, rest)));
            rests.iter().filter(|(choice, _)| *choice == 0).for_each(|(_, rest)| hearing.hear_text(rest, None));
            self.close(done, hearing);
        } else if is_open && self.choices.are_blocked() {
            let last = self.rewriting.end(0, "content_filter");
            self.choices.finish();
            self.is_cut = true;
            self.close(last.into(), hearing);
        } else if is_open && self.choices.have_ended() {
            let last = events.pop().into_iter().collect();
            self.close(last, hearing);
        } else if let State::Closing(_, waiting) = &mut self.state {
            waiting.append(&mut events);
        }
        Ok(events)
    }

    fn close(&mut self, waiting: Vec<Chunk>, hearing: &mut Hearing) {
        let State::Open(closing) = std::mem::replace(&mut self.state, State::Closed) else { return };
        let (end, text) = std::mem::take(&mut self.choices.first);
        let end = end.unwrap_or_default();
        hearing.ends(&end);
        let closed = async move { closing.close(end, &text, None).await }.boxed();
        self.state = State::Closing(closed, waiting);
    }

    /// Whether any content has been forwarded.
    pub fn has_words(&self) -> bool {
        self.writer.has_words()
    }

    /// The result of the answer. None until its end has been forwarded.
    pub fn verdict(&self) -> Option<Verdict> {
        let has_ended = self.events.has_ended() || self.writer.is_done();
        (has_ended && !matches!(self.state, State::Closing(..))).then(|| self.writer.verdict())
    }
}

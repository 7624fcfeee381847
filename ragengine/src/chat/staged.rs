//! Forwards a streamed completion whose answer passes stages.

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ragengine_pipeline::stream::{Change, Chunk, Delta, Piece, Rewriting, Said, Verdict, Writer};

use super::answer_stages::{AnswerEnd, ChoiceStages};
use super::closing::{Closed, Closing};
use super::hearing::Hearing;
use crate::language_model::{EventStream, LlmError};

/// A completion whose text passes stages. It has one choice, because an answer from an index has one.
pub(super) struct Staged {
    events: EventStream,
    rewriting: Rewriting,
    writer: Writer,
    state: State,
    /// The text so far, after its stages.
    text: String,
}

enum State {
    /// The answer arrives.
    Open(Box<ChoiceStages>, Box<Closing>),
    /// The answer has ended, and its fields are computed. The events wait for them.
    Closing(BoxFuture<'static, Closed>, Vec<Chunk>),
    /// The fields are in the writer.
    Closed,
}

impl Staged {
    /// Forwards these events.
    pub fn new(events: EventStream, closing: Closing) -> Self {
        Self {
            events,
            rewriting: Rewriting::default(),
            writer: Writer::default(),
            state: State::Open(Box::new(closing.stages.begin()), Box::new(closing)),
            text: String::new(),
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
        match self.events.next().await? {
            Ok(piece) => {
                let chunks = piece.chunks.into_iter().flat_map(|chunk| self.pass(chunk, hearing)).collect();
                Some(Ok(self.write(chunks)))
            }
            Err(error) => Some(Err(error)),
        }
    }

    fn write(&mut self, chunks: Vec<Chunk>) -> Bytes {
        self.writer.write(Piece { raw: Bytes::new(), chunks })
    }

    /// The events that can be sent now instead of this one.
    fn pass(&mut self, chunk: Chunk, hearing: &mut Hearing) -> Vec<Chunk> {
        let stages = match &mut self.state {
            State::Closing(_, waiting) => {
                waiting.push(chunk);
                return Vec::new();
            }
            State::Closed => return vec![chunk],
            State::Open(stages, _) => stages,
        };
        if chunk.said == Said::Done {
            let (rest, end) = std::mem::take(&mut **stages).finish();
            let before = if rest.is_empty() { Vec::new() } else { vec![self.rewriting.part(0, &rest)] };
            hearing.hear_text(&rest, None);
            self.text.push_str(&rest);
            self.close(end, vec![chunk], hearing);
            return before;
        }
        let mut end = None;
        let text = &mut self.text;
        let mut events = self.rewriting.rewrite(chunk, |delta: &Delta| {
            let mut part = stages.push(&delta.text);
            if delta.finish_reason.is_some() {
                let (rest, ended) = std::mem::take(&mut **stages).finish();
                part.push_str(&rest);
                end = Some(ended);
            }
            text.push_str(&part);
            hearing.hear_text(&part, delta.finish_reason.as_deref());
            Change { text: part, finish_reason: None }
        });
        if let Some(end) = end {
            let last = events.pop().into_iter().collect();
            self.close(end, last, hearing);
        }
        events
    }

    fn close(&mut self, end: AnswerEnd, waiting: Vec<Chunk>, hearing: &mut Hearing) {
        let State::Open(_, closing) = std::mem::replace(&mut self.state, State::Closed) else { return };
        hearing.ends(&end);
        let text = std::mem::take(&mut self.text);
        let closed = async move { closing.close(end, &text).await }.boxed();
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

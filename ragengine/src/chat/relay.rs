//! Forwards a streamed answer: as typed deltas if it is from an index, as untouched bytes if it is passed through.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use ragengine_pipeline::stream::{Broken, Ready, Relaying, Verdict, Writer, event};
use tokio::time::timeout;

use super::closing::Closing;
use super::conversing::{Conversing, error_event};
use super::hearing::Hearing;
use super::kept::Kept;
use super::ongoing::Ongoing;
use super::open_turn::OpenTurn;
use super::staged::Staged;
use crate::error::{ApiError, OpenAiError};
use crate::language_model::{EventStream, LlmError, Reply, StreamReply};

/// An SSE comment, which clients ignore.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// The fields that are added to an answer: names and JSON values. The values are text, because a JSON value would print
/// 32-bit distances with digits that they do not have.
pub(super) type Fields = Vec<(&'static str, String)>;

/// How an answer is forwarded to the client, and what is added to it.
pub(super) enum Passing {
    /// As untouched bytes. Only these fields are added.
    AsItComes(Fields),
    /// As a completion.
    Completion(Box<Closing>),
    /// As the text of an answer in a reply of our own.
    Conversation(Box<Closing>),
}

impl Passing {
    /// The error as a client may see it. With guardrails it has no words of an endpoint that failed, because some
    /// endpoints quote the answer that they failed to read.
    pub fn shown(&self, error: LlmError) -> LlmError {
        let is_checked = match self {
            Self::AsItComes(_) => false,
            Self::Completion(closing) | Self::Conversation(closing) => closing.stages.is_strict(),
        };
        if is_checked { error.without_answer() } else { error }
    }
}

/// The time limits for pauses in a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The pause after which the client gets an SSE comment.
    pub keep_alive: Duration,
    /// The pause after which the answer has failed.
    pub answer_timeout: Duration,
}

/// The source of the answer and the way it is forwarded.
pub(super) enum Source {
    /// The head of the reply has not arrived.
    Sending {
        /// The pending reply.
        reply: BoxFuture<'static, Result<Reply, LlmError>>,
        /// How the answer is forwarded. None once its head has arrived.
        passing: Option<Passing>,
        /// Whether the reply is of our own form.
        is_conversation: bool,
    },
    /// Untouched bytes.
    AsItComes(BoxStream<'static, Result<Bytes, LlmError>>, Relaying),
    /// Typed deltas.
    Deltas(EventStream, Box<Writer>),
    /// Typed deltas whose text passes stages.
    Staged(Box<Staged>),
    /// The text of an answer in a reply of our own.
    Conversation(Box<Conversing>),
}

impl Source {
    /// Waits for the head of a reply.
    pub fn sending(reply: BoxFuture<'static, Result<Reply, LlmError>>, passing: Passing) -> Self {
        let is_conversation = matches!(passing, Passing::Conversation(_));
        Self::Sending { reply, passing: Some(passing), is_conversation }
    }

    /// Forwards a stream.
    pub fn of(stream: StreamReply, passing: Passing) -> Self {
        match passing {
            Passing::AsItComes(fields) => Self::AsItComes(stream.pieces(), Relaying::new(fields)),
            Passing::Completion(closing) if closing.stages.is_empty() => {
                Self::Deltas(stream.events(), Box::new(Writer::new(closing.into_fields())))
            }
            Passing::Completion(closing) => Self::Staged(Box::new(Staged::new(stream.events(), *closing))),
            Passing::Conversation(closing) => Self::Conversation(Box::new(Conversing::new(stream.events(), *closing))),
        }
    }

    /// The bytes to send for the next piece: the complete events that end in it. Nothing is lost if the future is
    /// dropped early.
    async fn next(&mut self, hearing: &mut Hearing) -> Option<Result<Bytes, LlmError>> {
        if let Self::Sending { reply, passing, .. } = self {
            match reply.await {
                Ok(Reply::Stream(stream)) => *self = Self::of(stream, passing.take()?),
                // The client has comments already, so it cannot get the reply as it is.
                Ok(Reply::Whole(whole)) => *self = Self::of(whole.into_stream(), passing.take()?),
                Err(error) => {
                    return Some(Err(match passing {
                        Some(passing) => passing.shown(error),
                        None => error,
                    }));
                }
            }
        }
        match self {
            Self::Sending { .. } => None,
            Self::AsItComes(pieces, relaying) => match pieces.next().await {
                Some(piece) => Some(piece.and_then(|piece| relayed(relaying, piece))),
                None => {
                    relaying.end().map_err(nonsense).map(|rest| (!rest.is_empty()).then(|| rest.into())).transpose()
                }
            },
            Self::Deltas(events, writer) => {
                let piece = events.next().await?;
                piece.iter().for_each(|piece| hearing.hear(piece));
                Some(piece.map(|piece| writer.write(piece)))
            }
            Self::Staged(staged) => staged.next(hearing).await,
            Self::Conversation(conversing) => conversing.next(hearing).await,
        }
    }

    /// Whether a pause counts as silence. The time until the head arrives has a separate limit.
    fn counts_silence(&self) -> bool {
        !matches!(self, Self::Sending { .. })
    }

    fn is_conversation(&self) -> bool {
        matches!(self, Self::Conversation(_) | Self::Sending { is_conversation: true, .. })
    }

    /// Whether any content has been forwarded.
    fn has_words(&self) -> bool {
        match self {
            Self::Sending { .. } => false,
            Self::AsItComes(_, relaying) => relaying.has_words(),
            Self::Deltas(_, writer) => writer.has_words(),
            Self::Staged(staged) => staged.has_words(),
            Self::Conversation(conversing) => conversing.has_words(),
        }
    }

    /// The result of the answer. None until its end or `[DONE]` has been seen.
    fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Sending { .. } => None,
            Self::AsItComes(_, relaying) => relaying.verdict(),
            Self::Deltas(events, writer) => (events.has_ended() || writer.is_done()).then(|| writer.verdict()),
            Self::Staged(staged) => staged.verdict(),
            Self::Conversation(conversing) => conversing.verdict(),
        }
    }
}

fn relayed(relaying: &mut Relaying, piece: Bytes) -> Result<Bytes, LlmError> {
    Ok(match relaying.push(&piece).map_err(nonsense)? {
        Ready::AsItCame => piece,
        Ready::Bytes(bytes) => bytes.into(),
    })
}

/// A running stream. It buffers one piece at a time, so a slow client slows the language model down.
pub(super) struct Relay {
    source: Source,
    pace: Pace,
    /// How long the stream has been silent.
    silence: Duration,
    /// When the client got something.
    sent: Instant,
    /// None once the result of the answer is reported.
    report: Option<Ongoing>,
    hearing: Hearing,
}

impl Relay {
    /// Forwards this source.
    pub fn new(source: Source, pace: Pace) -> Self {
        let hearing = Hearing::default();
        Self { source, pace, silence: Duration::ZERO, sent: Instant::now(), report: None, hearing }
    }

    /// The events as they arrive, with our fields on the event with the finish reason. If the stream breaks, the
    /// unfinished event is dropped, because the client could not parse the error after it.
    pub fn events(
        mut self: Box<Self>,
        report: Option<Ongoing>,
        mut kept: Option<Box<Kept>>,
    ) -> BoxStream<'static, Result<Bytes, Infallible>> {
        let turn = kept.as_mut().and_then(|kept| kept.turn.take());
        (self.report, self.hearing) = (report, Hearing { kept, turn });
        stream::unfold(Some(self), |relay| next_bytes(relay).map(|next| next.map(|(bytes, relay)| (Ok(bytes), relay))))
            .boxed()
    }

    /// The next piece. The outer None means that the client gets an SSE comment because of a pause.
    async fn next_piece(&mut self) -> Option<Option<Result<Bytes, LlmError>>> {
        let Pace { keep_alive, answer_timeout } = self.pace;
        let pause = keep_alive.min(answer_timeout.saturating_sub(self.silence));
        match timeout(pause, self.source.next(&mut self.hearing)).await {
            Ok(piece) => {
                self.silence = Duration::ZERO;
                Some(piece)
            }
            Err(_) if !self.source.counts_silence() => None,
            Err(_) => {
                self.silence += pause;
                let seconds = answer_timeout.as_secs();
                (self.silence >= answer_timeout).then_some(Some(Err(LlmError::Silent { seconds })))
            }
        }
    }

    /// Reports the first content and the result of the answer. The result is reported at `[DONE]`, because clients
    /// disconnect there and would count as disconnected early.
    fn take_note(&mut self) {
        if let (true, Some(report)) = (self.source.has_words(), &mut self.report) {
            report.first_word_came();
        }
        if let Some(verdict) = self.source.verdict()
            && let Some(mut report) = self.report.take()
        {
            report.was_reported(verdict.usage);
            if verdict.has_error {
                report.failed(LlmError::Nonsense("its stream carries an error".to_owned()).into());
            } else {
                report.succeeded();
                // The answer in a conversation ends later.
                if !self.source.is_conversation() {
                    self.hearing.kept.take().into_iter().for_each(|kept| kept.answered());
                }
            }
        }
    }

    /// The events that end the answer in a conversation. None for other answers, which end with the language model's own
    /// event.
    async fn close(self: Box<Self>) -> Option<Bytes> {
        let Self { source, mut hearing, .. } = *self;
        match source {
            Source::Conversation(conversing) => Some(conversing.close(&mut hearing).await),
            _ => None,
        }
    }

    /// The error event that ends a broken stream. No `[DONE]` follows it.
    fn break_off(&mut self, error: LlmError) -> Bytes {
        let error = ApiError::from(error);
        let error = match self.report.take() {
            Some(report) => report.failed(error),
            None => error,
        };
        self.hearing.turn.take().into_iter().for_each(OpenTurn::failed);
        if self.source.is_conversation() {
            return error_event(error);
        }
        Bytes::from(event(&OpenAiError(error).body().to_string()))
    }
}

fn nonsense(broken: Broken) -> LlmError {
    LlmError::Nonsense(broken.to_string())
}

async fn next_bytes(relay: Option<Box<Relay>>) -> Option<(Bytes, Option<Box<Relay>>)> {
    let mut relay = relay?;
    relay.sent = Instant::now();
    loop {
        let piece = relay.next_piece().await;
        // The language model may send much that is not for the client, such as its reasoning.
        let is_silent_to_client = relay.sent.elapsed() >= relay.pace.keep_alive;
        match piece {
            None => return Some((Bytes::from_static(KEEP_ALIVE), Some(relay))),
            Some(Some(Err(error))) => return Some((relay.break_off(error), None)),
            Some(None) => {
                relay.take_note();
                return relay.close().await.map(|last| (last, None));
            }
            Some(Some(Ok(bytes))) => {
                relay.take_note();
                if !bytes.is_empty() {
                    return Some((bytes, Some(relay)));
                }
                if is_silent_to_client {
                    return Some((Bytes::from_static(KEEP_ALIVE), Some(relay)));
                }
            }
        }
    }
}

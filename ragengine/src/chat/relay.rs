//! Forwards a streamed answer: as typed deltas if it is from an index, as untouched bytes if it is passed through.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use ragengine_pipeline::stream::{Broken, Piece, Ready, Relaying, TokenWriter, Verdict, Writer, event, typed_event};
use tokio::time::timeout;

use super::conversed;
use super::kept::Kept;
use super::ongoing::Ongoing;
use super::open_turn::OpenTurn;
use crate::error::{ApiError, OpenAiError, PlainError};
use crate::language_model::{EventStream, LlmError, Reply, StreamReply};

/// An SSE comment, which clients ignore.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// The fields that are added to an answer: names and JSON values. The values are text, because a JSON value would print
/// 32-bit distances with digits that they do not have.
pub(super) type Fields = Vec<(&'static str, String)>;

/// How a streamed answer is forwarded to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// As untouched bytes. Only our fields are added.
    AsItComes,
    /// As typed deltas.
    Deltas,
    /// As the text of an answer in a conversation.
    Tokens,
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
        /// How the answer is forwarded.
        passing: Passing,
        /// The fields to add.
        fields: Fields,
    },
    /// Untouched bytes.
    AsItComes(BoxStream<'static, Result<Bytes, LlmError>>, Relaying),
    /// Typed deltas.
    Deltas(EventStream, Writer),
    /// The text of an answer in a conversation, with the fields of the event that ends it.
    Tokens(EventStream, TokenWriter, Fields),
}

impl Source {
    /// Forwards a stream and adds these fields.
    pub fn of(stream: StreamReply, passing: Passing, fields: Fields) -> Self {
        match passing {
            Passing::AsItComes => Self::AsItComes(stream.pieces(), Relaying::new(fields)),
            Passing::Deltas => Self::Deltas(stream.events(), Writer::new(fields)),
            Passing::Tokens => Self::Tokens(stream.events(), TokenWriter::default(), fields),
        }
    }

    /// The bytes to send for the next piece: the complete events that end in it. Nothing is lost if the future is
    /// dropped early.
    async fn next(&mut self, hearing: &mut Hearing) -> Option<Result<Bytes, LlmError>> {
        if let Self::Sending { reply, passing, fields } = self {
            match reply.await {
                Ok(Reply::Stream(stream)) => *self = Self::of(stream, *passing, std::mem::take(fields)),
                Ok(Reply::Whole(_)) => {
                    return Some(Err(LlmError::Nonsense("expected an event stream".to_owned())));
                }
                Err(error) => return Some(Err(error)),
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
            // What follows `[DONE]` or an error is not awaited.
            Self::Tokens(_, writer, _) if writer.is_done() || writer.error().is_some() => None,
            Self::Tokens(events, writer, _) => {
                let piece = events.next().await?;
                piece.iter().for_each(|piece| hearing.hear(piece));
                let written = |piece| writer.write(&piece).map_err(|error| LlmError::Nonsense(error.to_string()));
                Some(piece.and_then(written).map(Bytes::from))
            }
        }
    }

    /// Whether a pause counts as silence. The time until the head arrives has a separate limit.
    fn counts_silence(&self) -> bool {
        !matches!(self, Self::Sending { .. })
    }

    /// Whether any content has been forwarded.
    fn has_words(&self) -> bool {
        match self {
            Self::Sending { .. } => false,
            Self::AsItComes(_, relaying) => relaying.has_words(),
            Self::Deltas(_, writer) => writer.has_words(),
            Self::Tokens(_, writer, _) => !writer.text().is_empty(),
        }
    }

    /// The result of the answer. None until its end or `[DONE]` has been seen.
    fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Sending { .. } => None,
            Self::AsItComes(_, relaying) => relaying.verdict(),
            Self::Deltas(events, writer) => (events.has_ended() || writer.is_done()).then(|| writer.verdict()),
            Self::Tokens(events, writer, _) => {
                let has_ended = events.has_ended() || writer.is_done() || writer.error().is_some();
                has_ended.then(|| writer.verdict())
            }
        }
    }
}

fn relayed(relaying: &mut Relaying, piece: Bytes) -> Result<Bytes, LlmError> {
    Ok(match relaying.push(&piece).map_err(nonsense)? {
        Ready::AsItCame => piece,
        Ready::Bytes(bytes) => bytes.into(),
    })
}

/// What hears the text of an answer on its way to the client.
struct Hearing {
    /// What is kept of the chat.
    kept: Option<Box<Kept>>,
    /// The turn of the conversation.
    turn: Option<OpenTurn>,
}

impl Hearing {
    fn hear(&mut self, piece: &Piece) {
        self.kept.iter_mut().for_each(|kept| kept.hear(piece));
        self.turn.iter().for_each(|turn| turn.hear(piece));
    }
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
        let hearing = Hearing { kept: None, turn: None };
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

    fn is_conversation(&self) -> bool {
        matches!(self.source, Source::Tokens(..) | Source::Sending { passing: Passing::Tokens, .. })
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
                self.hearing.kept.take().into_iter().for_each(|kept| kept.answered());
            }
        }
    }

    /// The event that ends the answer in a conversation, after its turn is kept. None for other answers, which end with
    /// the language model's own event.
    async fn close(&mut self) -> Option<Bytes> {
        let turn = self.hearing.turn.take();
        let Source::Tokens(events, writer, fields) = &mut self.source else { return None };
        if let Some(message) = writer.error() {
            turn.into_iter().for_each(OpenTurn::failed);
            let message = events.without_key(message);
            let error = LlmError::Nonsense(format!("its stream carries an error: {message}"));
            return Some(error_event(ApiError::from(error)));
        }
        let is_kept = conversed::keep(turn).await;
        let reply = conversed::reply(writer.text(), std::mem::take(fields), is_kept);
        Some(typed_event("done", &reply).into())
    }

    /// The error event that ends a broken stream. No `[DONE]` follows it.
    fn break_off(&mut self, error: LlmError) -> Bytes {
        let error = ApiError::from(error);
        let error = match self.report.take() {
            Some(report) => report.failed(error),
            None => error,
        };
        self.hearing.turn.take().into_iter().for_each(OpenTurn::failed);
        if self.is_conversation() {
            return error_event(error);
        }
        Bytes::from(event(&OpenAiError(error).body().to_string()))
    }
}

/// The event for a failed answer in a conversation.
fn error_event(error: ApiError) -> Bytes {
    typed_event("error", &PlainError(error).body().to_string()).into()
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

//! Passing a streamed answer on: as deltas where it is from an index, untouched where nothing looks into it.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use ragengine_pipeline::stream::{Broken, Ready, Relaying, Verdict, Writer, event};
use tokio::time::timeout;

use super::ongoing::Ongoing;
use crate::error::{ApiError, OpenAiError};
use crate::language_model::{EventStream, LlmError, Reply, StreamReply};

/// A comment, which clients skip.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// What an answer gets: names and JSON values. They go in as text: as a JSON value, 32-bit distances would show digits
/// that they do not have.
pub(super) type Fields = Vec<(&'static str, String)>;

/// How a streamed answer goes on to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passing {
    /// Untouched but for our fields: nothing looks into it.
    AsItComes,
    /// Read as deltas and written as deltas.
    Deltas,
}

/// How long a stream may pause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The pause after which the client gets a comment.
    pub keep_alive: Duration,
    /// The pause after which the answer has failed.
    pub answer_timeout: Duration,
}

/// Where the answer comes from, and what becomes of it on its way.
pub(super) enum Source {
    /// The head of the reply has not come yet.
    Sending {
        /// The reply.
        reply: BoxFuture<'static, Result<Reply, LlmError>>,
        /// How the answer goes on.
        passing: Passing,
        /// What it gets.
        fields: Fields,
    },
    /// Bytes in, bytes out.
    AsItComes(BoxStream<'static, Result<Bytes, LlmError>>, Relaying),
    /// Deltas in, deltas out.
    Deltas(EventStream, Writer),
}

impl Source {
    /// A stream that gets these fields.
    pub fn of(stream: StreamReply, passing: Passing, fields: Fields) -> Self {
        match passing {
            Passing::AsItComes => Self::AsItComes(stream.pieces(), Relaying::new(fields)),
            Passing::Deltas => Self::Deltas(stream.events(), Writer::new(fields)),
        }
    }

    /// What goes on of the next piece: the whole events that end in it. Nothing is lost when this is dropped before it
    /// is done.
    async fn next(&mut self) -> Option<Result<Bytes, LlmError>> {
        if let Self::Sending { reply, passing, fields } = self {
            match reply.await {
                Ok(Reply::Stream(stream)) => *self = Self::of(stream, *passing, std::mem::take(fields)),
                Ok(Reply::Whole(_)) => {
                    return Some(Err(LlmError::Nonsense("a stream was asked for, and it is none".to_owned())));
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
            Self::Deltas(events, writer) => Some(events.next().await?.map(|piece| writer.write(piece))),
        }
    }

    /// The time until the head comes has another limit.
    fn counts_silence(&self) -> bool {
        !matches!(self, Self::Sending { .. })
    }

    /// Whether a word of the answer has gone by.
    fn has_words(&self) -> bool {
        match self {
            Self::Sending { .. } => false,
            Self::AsItComes(_, relaying) => relaying.has_words(),
            Self::Deltas(_, writer) => writer.has_words(),
        }
    }

    /// What became of the answer, once its end or the mark of it has gone by.
    fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Sending { .. } => None,
            Self::AsItComes(_, relaying) => relaying.verdict(),
            Self::Deltas(events, writer) => (events.has_ended() || writer.is_done()).then(|| writer.verdict()),
        }
    }
}

fn relayed(relaying: &mut Relaying, piece: Bytes) -> Result<Bytes, LlmError> {
    Ok(match relaying.push(&piece).map_err(nonsense)? {
        Ready::AsItCame => piece,
        Ready::Bytes(bytes) => bytes.into(),
    })
}

/// A stream under way. It holds one piece at a time: a client that reads slowly slows the language model down.
pub(super) struct Relay {
    source: Source,
    pace: Pace,
    /// How long nothing has come.
    silence: Duration,
    /// None once the answer has ended.
    report: Option<Ongoing>,
}

impl Relay {
    /// A stream from this source.
    pub fn new(source: Source, pace: Pace) -> Self {
        Self { source, pace, silence: Duration::ZERO, report: None }
    }

    /// Event by event, as they come, with our fields on the one that carries the finish reason. Of a stream that
    /// breaks, the event that was not finished is left out: the error behind it could not be read otherwise.
    pub fn events(mut self: Box<Self>, report: Option<Ongoing>) -> BoxStream<'static, Result<Bytes, Infallible>> {
        self.report = report;
        stream::unfold(Some(self), |relay| next_bytes(relay).map(|next| next.map(|(bytes, relay)| (Ok(bytes), relay))))
            .boxed()
    }

    /// The next piece, or nothing when there was a pause that is worth a comment.
    async fn next_piece(&mut self) -> Option<Option<Result<Bytes, LlmError>>> {
        let Pace { keep_alive, answer_timeout } = self.pace;
        let pause = keep_alive.min(answer_timeout.saturating_sub(self.silence));
        match timeout(pause, self.source.next()).await {
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

    /// Takes note of the first word, and of what became of the answer. Clients leave at the end's mark, which is no
    /// reason to say that they left.
    fn take_note(&mut self) {
        if let (true, Some(report)) = (self.source.has_words(), &mut self.report) {
            report.first_word_came();
        }
        if let Some(verdict) = self.source.verdict()
            && let Some(mut report) = self.report.take()
        {
            report.was_reported(verdict.usage);
            match verdict.has_error {
                true => drop(report.failed(LlmError::Nonsense("its stream carries an error".to_owned()).into())),
                false => report.succeeded(),
            }
        }
    }

    /// The last event of a stream that broke. No `[DONE]` follows it.
    fn break_off(&mut self, error: LlmError) -> Bytes {
        let error = ApiError::from(error);
        let error = match self.report.take() {
            Some(report) => report.failed(error),
            None => error,
        };
        Bytes::from(event(&OpenAiError(error).body().to_string()))
    }
}

fn nonsense(broken: Broken) -> LlmError {
    LlmError::Nonsense(broken.to_string())
}

async fn next_bytes(relay: Option<Box<Relay>>) -> Option<(Bytes, Option<Box<Relay>>)> {
    let mut relay = relay?;
    loop {
        match relay.next_piece().await {
            None => return Some((Bytes::from_static(KEEP_ALIVE), Some(relay))),
            Some(Some(Err(error))) => return Some((relay.break_off(error), None)),
            Some(None) => {
                relay.take_note();
                return None;
            }
            Some(Some(Ok(bytes))) => {
                relay.take_note();
                if !bytes.is_empty() {
                    return Some((bytes, Some(relay)));
                }
            }
        }
    }
}

//! Passing a streamed answer on: as deltas where it is from an index, untouched where nobody looks into it.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use ragengine_pipeline::stream::{Answering, Broken, Ready, Relaying, Usage, Verdict, event};
use tokio::time::timeout;

use super::errand::{Errand, Passing};
use super::ongoing::Ongoing;
use crate::error::{ApiError, OpenAiError};
use crate::language_model::{Completion, LlmError, Reply};

/// A comment, which clients skip.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// What an answer gets: names and JSON values. They go in as text: as a JSON value, 32-bit distances would show digits that they do not have.
pub(super) type Fields = Vec<(&'static str, String)>;

/// An answer that the language model has begun, or is about to.
pub(super) enum Begun {
    /// A whole one.
    Whole {
        /// The answer.
        completion: Result<Completion, LlmError>,
        /// What it gets.
        fields: Fields,
    },
    /// A stream.
    Stream(Box<Relay>),
}

impl Begun {
    /// Asks the language model. A stream that it has not begun after the pause begins without it.
    pub async fn of(errand: Errand) -> Self {
        let Errand { model, ask, wants_stream, passing, sources, explanation, keep_alive } = errand;
        let explanation = explanation.map(|explanation| ("explanation", explanation));
        let whole: Fields = [("source_nodes", sources.clone().unwrap_or_else(|| "null".to_owned()))]
            .into_iter()
            .chain(explanation.clone())
            .collect();
        if !wants_stream {
            return Self::Whole { completion: model.complete(ask).await, fields: whole };
        }
        let answer_timeout = model.answer_timeout();
        let mut sending = async move { model.stream(ask).await }.boxed();
        let mut usage = None;
        let source = match timeout(keep_alive, &mut sending).await {
            Ok(Ok(reply)) if reply.is_event_stream() => {
                usage = reply.usage();
                Source::of(reply)
            }
            Ok(Ok(reply)) => return Self::Whole { completion: reply.completion().await, fields: whole },
            Ok(Err(error)) => return Self::Whole { completion: Err(error), fields: whole },
            Err(_) => Source::Sending(sending),
        };
        let fields: Fields = sources.map(|sources| ("source_nodes", sources)).into_iter().chain(explanation).collect();
        let answer = Answer::new(passing, fields);
        let silence = Duration::ZERO;
        Self::Stream(Box::new(Relay { source, answer, keep_alive, answer_timeout, silence, usage, report: None }))
    }
}

/// Where the events come from.
enum Source {
    /// The head of the reply has not come yet.
    Sending(BoxFuture<'static, Result<Reply, LlmError>>),
    /// The body comes.
    Pieces(BoxStream<'static, Result<Bytes, LlmError>>),
}

impl Source {
    fn of(reply: Reply) -> Self {
        Self::Pieces(reply.pieces())
    }

    /// The next piece. Nothing is lost when this is dropped before it is done.
    async fn next(&mut self) -> Option<Result<Bytes, LlmError>> {
        if let Self::Sending(sending) = self {
            match sending.await {
                Ok(reply) if reply.is_event_stream() => *self = Self::of(reply),
                Ok(_) => return Some(Err(LlmError::Nonsense("a stream was asked for, and it is none".to_owned()))),
                Err(error) => return Some(Err(error)),
            }
        }
        match self {
            Self::Pieces(pieces) => pieces.next().await,
            Self::Sending(_) => None,
        }
    }

    /// The head has a timeout of its own.
    fn counts_silence(&self) -> bool {
        matches!(self, Self::Pieces(_))
    }
}

/// What becomes of the pieces of a stream.
enum Answer {
    AsItComes(Relaying),
    Deltas(Box<Answering>),
}

impl Answer {
    fn new(passing: Passing, fields: Fields) -> Self {
        match passing {
            Passing::AsItComes => Self::AsItComes(Relaying::new(fields)),
            Passing::Deltas => Self::Deltas(Box::new(Answering::new(fields))),
        }
    }

    fn push(&mut self, piece: &Bytes) -> Result<Ready, Broken> {
        match self {
            Self::AsItComes(relaying) => relaying.push(piece),
            Self::Deltas(answering) => answering.push(piece),
        }
    }

    fn end(&mut self) -> Result<Vec<u8>, Broken> {
        match self {
            Self::AsItComes(relaying) => relaying.end(),
            Self::Deltas(answering) => answering.end(),
        }
    }

    fn has_words(&self) -> bool {
        match self {
            Self::AsItComes(relaying) => relaying.has_words(),
            Self::Deltas(answering) => answering.has_words(),
        }
    }

    fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::AsItComes(relaying) => relaying.verdict(),
            Self::Deltas(answering) => answering.verdict(),
        }
    }
}

/// A stream under way. It holds one piece at a time: a client that reads slowly slows the language model down.
pub(super) struct Relay {
    source: Source,
    answer: Answer,
    keep_alive: Duration,
    answer_timeout: Duration,
    /// How long nothing has come.
    silence: Duration,
    /// What the answer costs, where that is known before it has come.
    usage: Option<Usage>,
    /// None once the answer has ended.
    report: Option<Ongoing>,
}

impl Relay {
    /// Event by event, as they come, with our fields on the one that carries the finish reason. Of a stream that breaks, the event that
    /// was not finished is left out: the error behind it could not be read otherwise.
    pub fn events(mut self: Box<Self>, mut report: Ongoing) -> BoxStream<'static, Result<Bytes, Infallible>> {
        report.was_reported(self.usage);
        self.report = Some(report);
        stream::unfold(Some(self), |relay| next_bytes(relay).map(|next| next.map(|(bytes, relay)| (Ok(bytes), relay))))
            .boxed()
    }

    /// The next piece, or nothing when there was a pause that is worth a comment.
    async fn next_piece(&mut self) -> Option<Option<Result<Bytes, LlmError>>> {
        let pause = self.keep_alive.min(self.answer_timeout.saturating_sub(self.silence));
        match timeout(pause, self.source.next()).await {
            Ok(piece) => {
                self.silence = Duration::ZERO;
                Some(piece)
            }
            Err(_) if !self.source.counts_silence() => None,
            Err(_) => {
                self.silence += pause;
                let seconds = self.answer_timeout.as_secs();
                (self.silence >= self.answer_timeout).then_some(Some(Err(LlmError::Silent { seconds })))
            }
        }
    }

    /// Whatever whole events a piece ends.
    fn take(&mut self, piece: Bytes) -> Result<Bytes, LlmError> {
        let ready = self.answer.push(&piece).map_err(nonsense)?;
        self.take_note();
        Ok(match ready {
            Ready::AsItCame => piece,
            Ready::Bytes(bytes) => bytes.into(),
        })
    }

    /// Takes note of the first word, and of what became of the answer. Clients leave at the end's mark, which is no reason to say that they left.
    fn take_note(&mut self) {
        if let (true, Some(report)) = (self.answer.has_words(), &mut self.report) {
            report.first_word_came();
        }
        if let Some(verdict) = self.answer.verdict()
            && let Some(mut report) = self.report.take()
        {
            report.was_reported(verdict.usage);
            match verdict.has_error {
                true => drop(report.failed(LlmError::Nonsense("its stream carries an error".to_owned()).into())),
                false => report.succeeded(),
            }
        }
    }

    /// The last bytes of a stream that has ended.
    fn last_bytes(&mut self) -> Bytes {
        match self.answer.end() {
            Ok(rest) => {
                self.take_note();
                rest.into()
            }
            Err(broken) => self.break_off(nonsense(broken)),
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
        let taken = match relay.next_piece().await {
            None => return Some((Bytes::from_static(KEEP_ALIVE), Some(relay))),
            Some(None) => {
                let last = relay.last_bytes();
                return (!last.is_empty()).then_some((last, None));
            }
            Some(Some(piece)) => piece.and_then(|piece| relay.take(piece)),
        };
        match taken {
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => return Some((bytes, Some(relay))),
            Err(error) => return Some((relay.break_off(error), None)),
        }
    }
}

//! Asking the language model and passing its answer on: untouched but for our fields.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, Stream};
use futures_util::{FutureExt as _, StreamExt as _};
use ragengine_pipeline::stream::{Broken, Ready, Relaying, Usage, Whole, event, with_fields};
use tokio::time::timeout;

use super::ChatReply;
use super::account::Account;
use crate::admission::Held;
use crate::compute;
use crate::error::{ApiError, OpenAiError};
use crate::llm::upstream::UpstreamReply;
use crate::llm::{LlmError, Upstream};

/// A comment, which clients skip.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// What to ask the language model, and what its answer gets.
pub(super) struct Errand {
    /// The endpoint.
    pub upstream: Arc<Upstream>,
    /// The body.
    pub body: Bytes,
    /// The room that the caller's body takes.
    pub room: Option<Arc<Held>>,
    /// The id that goes along.
    pub request_id: HeaderValue,
    /// Whether the answer is wanted as a stream.
    pub wants_stream: bool,
    /// The documents that went into the prompt: a JSON list. None when there are none.
    pub sources: Option<String>,
    /// What was decided: a JSON object, when the request asks for it.
    pub explanation: Option<String>,
    /// The pause after which a stream gets a comment.
    pub keep_alive: Duration,
}

type Fields = Vec<(&'static str, String)>;
type Sending = Pin<Box<dyn Future<Output = Result<UpstreamReply, LlmError>> + Send>>;
type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, LlmError>> + Send>>;

/// Runs an errand. A stream that the language model has not begun after the pause begins without it.
///
/// # Errors
///
/// What the language model says before the reply has begun.
pub(super) async fn run(errand: Errand, account: Account) -> Result<ChatReply, ApiError> {
    let Errand { upstream, body, room, request_id, wants_stream, sources, explanation, keep_alive } = errand;
    let explanation = explanation.map(|explanation| ("explanation", explanation));
    let whole: Fields = [("source_nodes", sources.clone().unwrap_or_else(|| "null".to_owned()))]
        .into_iter()
        .chain(explanation.clone())
        .collect();
    if !wants_stream {
        let answered = upstream.send(body, &request_id).await;
        drop(room);
        return answer(answered, whole, account).await;
    }
    let fields: Fields = sources.map(|sources| ("source_nodes", sources)).into_iter().chain(explanation).collect();
    let answer_timeout = upstream.answer_timeout();
    let mut sending: Sending = Box::pin(async move {
        let answered = upstream.send(body, &request_id).await;
        drop(room);
        answered
    });
    let source = match timeout(keep_alive, &mut sending).await {
        Ok(Ok(reply)) if reply.is_event_stream() => Source::Pieces(Box::pin(reply.pieces())),
        Ok(answered) => return answer(answered, whole, account).await,
        Err(_) => Source::Sending(sending),
    };
    let relay = Relay {
        source,
        answer: Relaying::new(fields),
        keep_alive,
        answer_timeout,
        silence: Duration::ZERO,
        account: Some(account),
    };
    Ok(ChatReply::Events(relay.events()))
}

/// Passes a whole answer on.
async fn answer(
    answered: Result<UpstreamReply, LlmError>,
    fields: Fields,
    mut account: Account,
) -> Result<ChatReply, ApiError> {
    let result = async {
        let reply = answered?;
        let content_type = reply.content_type().cloned();
        let body = reply.body().await?;
        let bytes = body.len();
        let mark = move |_: &_| Ok::<_, ApiError>(marked(&body, &fields)?);
        let (marked, usage) = compute::run(bytes, mark).await?;
        Ok::<_, ApiError>((content_type, marked, usage))
    };
    match result.await {
        Ok((content_type, marked, usage)) => {
            account.was_reported(usage);
            account.succeeded();
            let content_type = content_type.unwrap_or(HeaderValue::from_static("application/json"));
            Ok(ChatReply::Whole { content_type, body: marked.into() })
        }
        Err(error) => {
            account.failed(&error);
            Err(error)
        }
    }
}

/// A whole answer with our fields, and the tokens that it reports. What cannot be used is not quoted: it may hold a user's text, or the
/// key.
fn marked(body: &[u8], fields: &[(&'static str, String)]) -> Result<(String, Option<Usage>), LlmError> {
    let nonsense = |what: &str| LlmError::Nonsense(format!("{what}, of {} bytes", body.len()));
    let text = std::str::from_utf8(body).map_err(|_| nonsense("it is not text"))?;
    let whole = Whole::read(text).ok_or_else(|| nonsense("it is not JSON"))?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let marked = with_fields(&whole.dated(text, seconds), fields).ok_or_else(|| nonsense("it is not a JSON object"))?;
    Ok((marked, whole.usage))
}

/// Where the events come from.
enum Source {
    /// The head of the reply has not come yet.
    Sending(Sending),
    /// The body comes.
    Pieces(Pieces),
}

impl Source {
    /// The next piece. Nothing is lost when this is dropped before it is done.
    async fn next(&mut self) -> Option<Result<Bytes, LlmError>> {
        if let Self::Sending(sending) = self {
            match sending.await {
                Ok(reply) if reply.is_event_stream() => *self = Self::Pieces(Box::pin(reply.pieces())),
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

/// A stream under way. It holds one piece at a time: a client that reads slowly slows the language model down.
struct Relay {
    source: Source,
    answer: Relaying,
    keep_alive: Duration,
    answer_timeout: Duration,
    /// How long nothing has come.
    silence: Duration,
    /// None once the answer has ended.
    account: Option<Account>,
}

impl Relay {
    /// Event by event, as they come, with our fields on the one that carries the finish reason. Of a stream that breaks, the event that
    /// was not finished is left out: the error behind it could not be read otherwise.
    fn events(self) -> BoxStream<'static, Result<Bytes, Infallible>> {
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
        self.account_for();
        Ok(match ready {
            Ready::AsItCame => piece,
            Ready::Bytes(bytes) => bytes.into(),
        })
    }

    /// Takes note of the first word, and of what became of the answer. Clients leave at the end's mark, which is no reason to say that they left.
    fn account_for(&mut self) {
        if let (true, Some(account)) = (self.answer.has_words(), &mut self.account) {
            account.first_word_came();
        }
        if let Some(verdict) = self.answer.verdict()
            && let Some(mut account) = self.account.take()
        {
            account.was_reported(verdict.usage);
            match verdict.has_error {
                true => account.failed(&LlmError::Nonsense("its stream carries an error".to_owned()).into()),
                false => account.succeeded(),
            }
        }
    }

    /// The last bytes of a stream that has ended.
    fn last_bytes(&mut self) -> Bytes {
        match self.answer.end() {
            Ok(rest) => {
                self.account_for();
                rest.into()
            }
            Err(broken) => self.break_off(nonsense(broken)),
        }
    }

    /// The last event of a stream that broke. No `[DONE]` follows it.
    fn break_off(&mut self, error: LlmError) -> Bytes {
        let error = ApiError::from(error);
        if let Some(account) = self.account.take() {
            account.failed(&error);
        }
        Bytes::from(event(&OpenAiError(error).body().to_string()))
    }
}

fn nonsense(broken: Broken) -> LlmError {
    LlmError::Nonsense(broken.to_string())
}

async fn next_bytes(relay: Option<Relay>) -> Option<(Bytes, Option<Relay>)> {
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

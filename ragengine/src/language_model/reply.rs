use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ragengine_embedding::Secret;
use ragengine_pipeline::stream::{Broken, Piece, Reader, Usage, as_events};

use super::LlmError;
use super::answer::Answer;
use super::upstream::{UpstreamReply, without_key};

/// The reply to a request for a streamed answer. Its head has arrived.
pub enum Reply {
    /// An event stream.
    Stream(StreamReply),
    /// A whole answer, although a stream was requested. Some endpoints do not support streams.
    Whole(WholeReply),
}

impl From<UpstreamReply> for Reply {
    fn from(reply: UpstreamReply) -> Self {
        if reply.is_event_stream() {
            Self::Stream(StreamReply(Source::Upstream(reply)))
        } else {
            Self::Whole(WholeReply(reply))
        }
    }
}

/// A whole answer whose body is still arriving.
pub struct WholeReply(pub(super) UpstreamReply);

impl WholeReply {
    /// Waits for the answer and parses it.
    ///
    /// # Errors
    ///
    /// [`LlmError`] if it times out, breaks off, is too large, or is not JSON.
    pub async fn answer(self) -> Result<Answer, LlmError> {
        let content_type: Option<HeaderValue> = self.0.content_type().cloned();
        let raw = self.0.body().await?;
        ragengine_compute::run(raw.len(), move |_| Answer::read(content_type, raw)).await
    }

    /// The answer as a stream, for a client whose stream has begun. All its events come at once, at the end.
    pub fn into_stream(self) -> StreamReply {
        StreamReply(Source::Whole(self))
    }

    async fn events(self) -> Result<Bytes, LlmError> {
        let answer = self.answer().await?;
        let bytes = answer.raw.len();
        let write = move |_: &_| {
            let events = as_events(answer.json()?).map(Bytes::from);
            events.ok_or_else(|| LlmError::Nonsense("its reply has no choices".to_owned()))
        };
        ragengine_compute::run(bytes, write).await
    }
}

/// A stream whose events are still arriving.
pub struct StreamReply(Source);

enum Source {
    Upstream(UpstreamReply),
    Whole(WholeReply),
    BuiltIn { events: Vec<String>, usage: Usage },
}

impl StreamReply {
    /// A stream of the built-in model, whose events are all known.
    pub(super) fn built_in(events: Vec<String>, usage: Usage) -> Self {
        Self(Source::BuiltIn { events, usage })
    }

    /// The tokens of the answer. None unless they are known before the stream starts.
    pub fn usage(&self) -> Option<Usage> {
        match &self.0 {
            Source::Upstream(_) | Source::Whole(_) => None,
            Source::BuiltIn { usage, .. } => Some(*usage),
        }
    }

    /// The stream as typed deltas.
    pub fn events(self) -> EventStream {
        let api_key = match &self.0 {
            Source::Upstream(reply) | Source::Whole(WholeReply(reply)) => reply.api_key().cloned(),
            Source::BuiltIn { .. } => None,
        };
        EventStream { pieces: self.pieces(), reader: Reader::default(), has_ended: false, api_key }
    }

    /// The stream as untouched bytes, for pass-through. An error is the last item. It may be polled again after its
    /// end.
    pub fn pieces(self) -> BoxStream<'static, Result<Bytes, LlmError>> {
        match self.0 {
            Source::Upstream(reply) => reply.pieces().fuse().boxed(),
            Source::Whole(whole) => stream::once(whole.events()).fuse().boxed(),
            Source::BuiltIn { events, .. } => {
                stream::iter(events.into_iter().map(|event| Ok(event.into()))).fuse().boxed()
            }
        }
    }
}

/// A stream that is parsed while it arrives. Each item is one piece: its typed events and its original bytes. The
/// events of a piece stay together, so an unchanged answer costs one write for each piece.
pub struct EventStream {
    pieces: BoxStream<'static, Result<Bytes, LlmError>>,
    reader: Reader,
    has_ended: bool,
    api_key: Option<Secret>,
}

impl EventStream {
    /// The next piece. None after the last one. An error is the last item, and a stream that ends before its answer
    /// ends with an error. Nothing is lost if the future is dropped early.
    pub async fn next(&mut self) -> Option<Result<Piece, LlmError>> {
        match self.pieces.next().await {
            Some(Ok(piece)) => Some(self.reader.push(piece).map_err(|error| broken(error.into()))),
            Some(Err(error)) => Some(Err(error)),
            None => {
                let last = self.reader.end();
                self.has_ended = last.is_ok();
                last.map_err(broken).transpose()
            }
        }
    }

    /// A text of the endpoint without the key, which it may repeat.
    pub fn without_key(&self, text: &str) -> String {
        without_key(text, self.api_key.as_ref())
    }

    /// Whether the stream and its answer are complete.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

fn broken(broken: Broken) -> LlmError {
    LlmError::Nonsense(broken.to_string())
}

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ragengine_pipeline::stream::{Broken, Piece, Reader, Usage};

use super::LlmError;
use super::answer::Answer;
use super::upstream::UpstreamReply;

/// The reply to a question that asks for a stream. Its head has arrived.
pub enum Reply {
    /// A stream.
    Stream(StreamReply),
    /// A whole answer, although a stream was asked for. Some endpoints have no streams.
    Whole(WholeReply),
}

impl From<UpstreamReply> for Reply {
    fn from(reply: UpstreamReply) -> Self {
        match reply.is_event_stream() {
            true => Self::Stream(StreamReply(Source::Upstream(reply))),
            false => Self::Whole(WholeReply(reply)),
        }
    }
}

/// A whole answer that is arriving.
pub struct WholeReply(pub(super) UpstreamReply);

impl WholeReply {
    /// Waits for the answer and reads it.
    ///
    /// # Errors
    ///
    /// If it does not come in time, breaks off, is too large, or is not JSON.
    pub async fn answer(self) -> Result<Answer, LlmError> {
        let content_type: Option<HeaderValue> = self.0.content_type().cloned();
        let raw = self.0.body().await?;
        ragengine_compute::run(raw.len(), move |_| Answer::read(content_type, raw)).await
    }
}

/// A stream that is arriving.
pub struct StreamReply(Source);

enum Source {
    Upstream(UpstreamReply),
    BuiltIn { events: Vec<String>, usage: Usage },
}

impl StreamReply {
    /// The events of the built-in model, which has them all.
    pub(super) fn built_in(events: Vec<String>, usage: Usage) -> Self {
        Self(Source::BuiltIn { events, usage })
    }

    /// The tokens of the answer, if they are known before it has come.
    pub fn usage(&self) -> Option<Usage> {
        match &self.0 {
            Source::Upstream(_) => None,
            Source::BuiltIn { usage, .. } => Some(*usage),
        }
    }

    /// The stream as what it says.
    pub fn events(self) -> EventStream {
        EventStream { pieces: self.pieces(), reader: Reader::default(), has_ended: false }
    }

    /// The stream as it comes, for an answer that is passed through and not read. An error is the last item. It may be
    /// polled again after its end.
    pub fn pieces(self) -> BoxStream<'static, Result<Bytes, LlmError>> {
        match self.0 {
            Source::Upstream(reply) => reply.pieces().fuse().boxed(),
            Source::BuiltIn { events, .. } => {
                stream::iter(events.into_iter().map(|event| Ok(event.into()))).fuse().boxed()
            }
        }
    }
}

/// A stream that is read as it comes: what each piece says, beside its bytes. Pieces keep together, so that an answer
/// that nothing changes costs one write for each.
pub struct EventStream {
    pieces: BoxStream<'static, Result<Bytes, LlmError>>,
    reader: Reader,
    has_ended: bool,
}

impl EventStream {
    /// The next piece. None after the last one. An error is the last item: a stream that ends before its answer does
    /// ends with one. Nothing is lost if the future is dropped before it is done.
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

    /// Whether the stream has come to its end, and the answer with it.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

fn broken(broken: Broken) -> LlmError {
    LlmError::Nonsense(broken.to_string())
}

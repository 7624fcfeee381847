use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use ragengine_pipeline::stream::{Delta, Usage, Whole, answers};

use super::LlmError;
use super::upstream::UpstreamReply;

/// A reply of which the head is there.
pub struct Reply(Source);

enum Source {
    Upstream(UpstreamReply),
    BuiltIn {
        /// The whole answer, or the events of a stream.
        parts: Vec<Bytes>,
        is_stream: bool,
        usage: Usage,
    },
}

impl Reply {
    /// What the built-in model says, whole.
    pub(super) fn whole(answer: String, usage: Usage) -> Self {
        Self(Source::BuiltIn { parts: vec![answer.into()], is_stream: false, usage })
    }

    /// What the built-in model says, event by event.
    pub(super) fn events(events: Vec<String>, usage: Usage) -> Self {
        Self(Source::BuiltIn { parts: events.into_iter().map(Bytes::from).collect(), is_stream: true, usage })
    }

    /// The content type that came with it.
    pub fn content_type(&self) -> Option<HeaderValue> {
        match &self.0 {
            Source::Upstream(reply) => reply.content_type().cloned(),
            Source::BuiltIn { .. } => None,
        }
    }

    /// Whether it is a stream of events.
    pub fn is_event_stream(&self) -> bool {
        match &self.0 {
            Source::Upstream(reply) => reply.is_event_stream(),
            Source::BuiltIn { is_stream, .. } => *is_stream,
        }
    }

    /// What the answer costs, where that is known before it has come.
    pub fn usage(&self) -> Option<Usage> {
        match &self.0 {
            Source::Upstream(_) => None,
            Source::BuiltIn { usage, .. } => Some(*usage),
        }
    }

    /// The whole answer.
    ///
    /// # Errors
    ///
    /// When it does not come in time, breaks off, or is too large.
    pub async fn completion(self) -> Result<Completion, LlmError> {
        let content_type = self.content_type();
        let body = match self.0 {
            Source::Upstream(reply) => reply.body().await?,
            Source::BuiltIn { parts, .. } => parts.concat().into(),
        };
        Ok(Completion { content_type, body })
    }

    /// The pieces of a stream, as they come. An error is the last item.
    pub fn pieces(self) -> BoxStream<'static, Result<Bytes, LlmError>> {
        match self.0 {
            Source::Upstream(reply) => reply.pieces().boxed(),
            Source::BuiltIn { parts, .. } => stream::iter(parts.into_iter().map(Ok)).boxed(),
        }
    }
}

impl From<UpstreamReply> for Reply {
    fn from(reply: UpstreamReply) -> Self {
        Self(Source::Upstream(reply))
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Completion {
    /// Its content type, where it came with one.
    pub content_type: Option<HeaderValue>,
    /// The answer as it came, in OpenAI's wire.
    pub body: Bytes,
}

impl Completion {
    /// What it says: of each of the answers its text and why it ended. None of them where it is in no shape that is known.
    pub fn answers(&self) -> Vec<Delta> {
        std::str::from_utf8(&self.body).map(answers).unwrap_or_default()
    }

    /// The tokens that it reports.
    pub fn usage(&self) -> Option<Usage> {
        Whole::read(std::str::from_utf8(&self.body).ok()?)?.usage
    }
}

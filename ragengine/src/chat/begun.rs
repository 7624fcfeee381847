use futures_util::FutureExt as _;
use ragengine_pipeline::stream::Usage;
use tokio::time::timeout;

use super::relay::{Fields, Pace, Passing, Relay, Source};
use super::upstream_request::{SOURCE_NODES, UpstreamRequest};
use crate::language_model::{Answer, LlmError, Reply};

/// An answer that the language model has begun or is about to begin.
pub(super) enum Begun {
    /// A whole answer.
    Whole {
        /// The answer, or why there is none.
        answer: Result<Answer, LlmError>,
        /// The fields to add.
        fields: Fields,
        /// Where they are added.
        form: Form,
    },
    /// A streamed answer.
    Stream {
        /// The stream to forward.
        relay: Box<Relay>,
        /// The tokens of the answer. None unless the whole answer is known already.
        ready: Option<Usage>,
    },
}

/// The form of the reply with a whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The language model's reply, with our fields.
    Completion,
    /// The reply of a conversation.
    Conversation,
    /// The same as events, because the caller asked for a stream.
    ConversationEvents,
}

impl Begun {
    /// Sends the request to the language model. If an endpoint has not replied after `keep_alive`, the stream to the
    /// client starts without it. The built-in model is awaited without this limit.
    pub async fn of(request: UpstreamRequest) -> Self {
        let UpstreamRequest { model, question, wants_stream, passing, fields, keep_alive, kept: _ } = request;
        let form = match (passing, wants_stream) {
            (Passing::AsItComes | Passing::Deltas, _) => Form::Completion,
            (Passing::Tokens, false) => Form::Conversation,
            (Passing::Tokens, true) => Form::ConversationEvents,
        };
        let whole = |answer, fields| Self::Whole { answer, fields: of_whole(form, fields), form };
        if !wants_stream {
            return whole(model.complete(question).await, fields);
        }
        let (is_endpoint, answer_timeout) = (model.is_endpoint(), model.answer_timeout());
        let mut sending = async move { model.stream(question).await }.boxed();
        let replied =
            if is_endpoint { timeout(keep_alive, &mut sending).await.ok() } else { Some((&mut sending).await) };
        let (source, ready) = match replied {
            Some(Ok(Reply::Stream(stream))) => {
                let ready = stream.usage();
                (Source::of(stream, passing, fields), ready)
            }
            Some(Ok(Reply::Whole(reply))) => return whole(reply.answer().await, fields),
            Some(Err(error)) => return whole(Err(error), fields),
            None => (Source::Sending { reply: sending, passing, fields }, None),
        };
        Self::Stream { relay: Box::new(Relay::new(source, Pace { keep_alive, answer_timeout })), ready }
    }
}

/// The fields of a whole answer. A completion always says whether documents were used.
fn of_whole(form: Form, mut fields: Fields) -> Fields {
    if form == Form::Completion && !fields.iter().any(|(name, _)| *name == SOURCE_NODES) {
        fields.insert(0, (SOURCE_NODES, "null".to_owned()));
    }
    fields
}

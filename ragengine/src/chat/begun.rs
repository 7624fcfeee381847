use futures_util::FutureExt as _;
use ragengine_pipeline::stream::Usage;
use tokio::time::timeout;

use super::closing::Closing;
use super::relay::{Fields, Pace, Passing, Relay, Source};
use super::upstream_request::{Asking, SOURCE_NODES, UpstreamRequest};
use crate::language_model::{Answer, LlmError, Reply};

/// An answer that the language model has begun or is about to begin.
pub(super) enum Begun {
    /// A whole answer.
    Whole {
        /// The answer, or why there is none.
        answer: Result<Answer, LlmError>,
        /// The form of the reply.
        form: Form,
    },
    /// An answer that is known without the language model.
    Known {
        /// Its text.
        text: String,
        /// The form of the reply.
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
pub(super) enum Form {
    /// The language model's reply, with these fields.
    AsItComes(Fields),
    /// The language model's reply, with our fields.
    Completion(Box<Closing>),
    /// A reply of our own.
    Conversation(Box<Closing>),
    /// The same as events, because the caller asked for a stream.
    ConversationEvents(Box<Closing>),
}

impl Begun {
    /// Sends the request to the language model. If an endpoint has not replied after `keep_alive`, the stream to the
    /// client starts without it. The built-in model is awaited without this limit.
    pub async fn of(request: UpstreamRequest) -> Self {
        let UpstreamRequest { model, asking, wants_stream, passing, keep_alive, kept: _, cache: _ } = request;
        let question = match asking {
            Asking::Model(question) => question,
            Asking::NoModel(text) => return Self::Known { text, form: Form::of(passing, wants_stream) },
        };
        if !wants_stream {
            let answer = model.complete(question).await.map_err(|error| passing.shown(error));
            return Self::Whole { answer, form: Form::of(passing, false) };
        }
        let (is_endpoint, answer_timeout) = (model.is_endpoint(), model.answer_timeout());
        let mut sending = async move { model.stream(question).await }.boxed();
        let replied =
            if is_endpoint { timeout(keep_alive, &mut sending).await.ok() } else { Some((&mut sending).await) };
        let (source, ready) = match replied {
            Some(Ok(Reply::Stream(stream))) => {
                let ready = stream.usage();
                (Source::of(stream, passing), ready)
            }
            Some(Ok(Reply::Whole(reply))) => {
                return Self::Whole { answer: reply.answer().await, form: Form::of(passing, true) };
            }
            Some(Err(error)) => {
                return Self::Whole { answer: Err(passing.shown(error)), form: Form::of(passing, true) };
            }
            None => (Source::sending(sending, passing), None),
        };
        Self::Stream { relay: Box::new(Relay::new(source, Pace { keep_alive, answer_timeout })), ready }
    }
}

impl Form {
    fn of(passing: Passing, wants_stream: bool) -> Self {
        match passing {
            Passing::AsItComes(fields) => Self::AsItComes(with_source_nodes(fields)),
            Passing::Completion(mut closing) => {
                closing.fields = with_source_nodes(closing.fields);
                Self::Completion(closing)
            }
            Passing::Conversation(closing) if wants_stream => Self::ConversationEvents(closing),
            Passing::Conversation(closing) => Self::Conversation(closing),
        }
    }
}

/// The fields of a whole completion, which always says whether documents were used.
fn with_source_nodes(mut fields: Fields) -> Fields {
    if !fields.iter().any(|(name, _)| *name == SOURCE_NODES) {
        fields.insert(0, (SOURCE_NODES, "null".to_owned()));
    }
    fields
}

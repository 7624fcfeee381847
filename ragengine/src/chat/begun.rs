use futures_util::FutureExt as _;
use ragengine_pipeline::stream::Usage;
use tokio::time::timeout;

use super::relay::{Fields, Pace, Relay, Source};
use super::upstream_request::UpstreamRequest;
use crate::language_model::{Answer, LlmError, Reply};

/// An answer that the language model has begun or is about to begin.
pub(super) enum Begun {
    /// A whole answer.
    Whole {
        /// The answer, or why there is none.
        answer: Result<Answer, LlmError>,
        /// The fields to add.
        fields: Fields,
    },
    /// A streamed answer.
    Stream {
        /// The stream to forward.
        relay: Box<Relay>,
        /// The tokens of the answer. None unless the whole answer is known already.
        ready: Option<Usage>,
    },
}

impl Begun {
    /// Sends the request to the language model. If an endpoint has not replied after `keep_alive`, the stream to the
    /// client starts without it. The built-in model is awaited without this limit.
    pub async fn of(request: UpstreamRequest) -> Self {
        let UpstreamRequest { model, question, wants_stream, passing, sources, explanation, keep_alive, kept: _ } =
            request;
        let explanation = explanation.map(|explanation| ("explanation", explanation));
        let whole: Fields = [("source_nodes", sources.clone().unwrap_or_else(|| "null".to_owned()))]
            .into_iter()
            .chain(explanation.clone())
            .collect();
        if !wants_stream {
            return Self::Whole { answer: model.complete(question).await, fields: whole };
        }
        let (is_endpoint, answer_timeout) = (model.is_endpoint(), model.answer_timeout());
        let mut sending = async move { model.stream(question).await }.boxed();
        let replied =
            if is_endpoint { timeout(keep_alive, &mut sending).await.ok() } else { Some((&mut sending).await) };
        let fields: Fields = sources.map(|sources| ("source_nodes", sources)).into_iter().chain(explanation).collect();
        let (source, ready) = match replied {
            Some(Ok(Reply::Stream(stream))) => {
                let ready = stream.usage();
                (Source::of(stream, passing, fields), ready)
            }
            Some(Ok(Reply::Whole(reply))) => return Self::Whole { answer: reply.answer().await, fields: whole },
            Some(Err(error)) => return Self::Whole { answer: Err(error), fields: whole },
            None => (Source::Sending { reply: sending, passing, fields }, None),
        };
        Self::Stream { relay: Box::new(Relay::new(source, Pace { keep_alive, answer_timeout })), ready }
    }
}

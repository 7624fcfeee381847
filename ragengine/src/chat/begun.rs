use futures_util::FutureExt as _;
use ragengine_pipeline::stream::Usage;
use tokio::time::timeout;

use super::relay::{Fields, Pace, Relay, Source};
use super::upstream_request::UpstreamRequest;
use crate::language_model::{Answer, LlmError, Reply};

/// An answer that the language model has begun, or is about to.
pub(super) enum Begun {
    /// A whole one.
    Whole {
        /// The answer.
        answer: Result<Answer, LlmError>,
        /// Our fields.
        fields: Fields,
    },
    /// A stream.
    Stream {
        /// The stream.
        relay: Box<Relay>,
        /// What it costs, where all of it is there already.
        ready: Option<Usage>,
    },
}

impl Begun {
    /// Asks the language model. A stream that an endpoint has not begun after the pause begins without it. The built-in
    /// model is waited for.
    pub async fn of(request: UpstreamRequest) -> Self {
        let UpstreamRequest { model, question, wants_stream, passing, sources, explanation, keep_alive } = request;
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

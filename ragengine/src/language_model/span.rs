//! The span of a question to the language model, with OpenTelemetry's conventions for generative AI (version 1.41). It
//! has no text of the conversation.

use ragengine_pipeline::stream::Usage;
use ragengine_traces::{Kind, Span};

use super::question::Content;
use super::{LanguageModel, Question, extractive};

/// The API of the endpoint. The conventions have this name for every provider with OpenAI's API that has no name of its
/// own.
const OPENAI: &str = "openai";

/// The name of the built-in model's provider.
const OWN: &str = "ragengine";

/// Adds the tokens of an answer to its span.
pub fn add_usage(span: &Span, usage: Usage) {
    let signed = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    span.set("gen_ai.usage.input_tokens", signed(usage.prompt_tokens));
    span.set("gen_ai.usage.output_tokens", signed(usage.completion_tokens));
}

/// What a trace says about a question.
#[derive(Debug, Default)]
pub struct Facts {
    /// The model.
    pub model: Option<String>,
    /// The limit of the answer, in tokens.
    pub max_tokens: Option<u64>,
}

impl LanguageModel {
    /// Begins the span of a question. An unknown model's name is a text of the caller, and is left out.
    pub fn span(&self, question: &Question) -> Span {
        if !Span::is_recorded() {
            return Span::default();
        }
        let Facts { model, max_tokens } = &question.facts;
        let is_built_in = matches!(question.content, Content::Quotable(_));
        let model =
            if is_built_in { Some(extractive::MODEL) } else { model.as_deref().filter(|model| self.knows(model)) };
        let name = model.map_or_else(|| "chat".to_owned(), |model| format!("chat {model}"));
        let span = Span::child(name, if is_built_in { Kind::Internal } else { Kind::Client });
        span.set("gen_ai.operation.name", "chat");
        span.set("gen_ai.provider.name", if is_built_in { OWN } else { OPENAI });
        span.set_some("gen_ai.request.model", model.map(str::to_owned));
        span.set_some("gen_ai.request.max_tokens", max_tokens.and_then(|tokens| i64::try_from(tokens).ok()));
        if let Self::Upstream(upstream) = self {
            let (host, port) = upstream.host();
            span.set("server.address", host);
            span.set_some("server.port", port.map(i64::from));
        }
        span
    }
}

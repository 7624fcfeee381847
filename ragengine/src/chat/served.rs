//! The language model that serves a request: its name, its window, its tokenizer.

use std::sync::Arc;

use ragengine_pipeline::Rejection;
use ragengine_pipeline::request::ChatRequest;
use serde_json::Value;

use super::tokens::TokenCounter;
use crate::app::{App, Loaded};
use crate::error::ApiError;
use crate::llm::{LanguageModel, Upstream, extractive};

/// No text has more bytes in a token than this, but for one that nobody wrote.
const MAX_BYTES_PER_TOKEN: u64 = 64;

/// A conversation this short is counted at once: handing it to another thread would cost more.
const COUNTED_AT_ONCE_BYTES: usize = 2 << 10;

/// The model that answers, its window and its tokenizer.
pub(super) struct Served {
    /// Which it is.
    pub model: Model,
    /// Its name, as the request has it or else the endpoint.
    pub name: Option<String>,
    /// Its context window.
    pub window_tokens: u64,
    /// How its tokens are counted.
    pub counter: TokenCounter,
}

/// The language model.
pub(super) enum Model {
    /// An endpoint.
    Upstream(Arc<Upstream>),
    /// The built-in one.
    Extractive,
}

impl Served {
    /// The model that serves a request.
    pub async fn of(app: &App, loaded: &Loaded, request: &ChatRequest) -> Result<Self, ApiError> {
        match &app.language_model {
            LanguageModel::None => Err(no_model()),
            LanguageModel::Extractive => Ok(Self {
                model: Model::Extractive,
                name: None,
                window_tokens: extractive::WINDOW_TOKENS,
                counter: TokenCounter::Embedding(loaded.embedding.clone()),
            }),
            LanguageModel::Upstream(upstream) => {
                let name = model_of(upstream, request).await;
                let known_name = name.as_deref().unwrap_or_default();
                Ok(Self {
                    window_tokens: upstream.window_tokens(known_name).await,
                    counter: TokenCounter::Served(upstream.tokenizer(known_name)),
                    model: Model::Upstream(Arc::clone(upstream)),
                    name,
                })
            }
        }
    }

    /// The tokens of the conversation. One that cannot fit is refused before it is counted, and counting a long one is kept from the
    /// threads that serve requests.
    pub async fn conversation_tokens(&self, loaded: &Loaded, request: &Arc<ChatRequest>) -> Result<u64, ApiError> {
        let bytes: usize = messages(request).iter().map(text_bytes).sum();
        if bytes as u64 > self.window_tokens.saturating_mul(MAX_BYTES_PER_TOKEN) {
            return Err(Rejection::ContextWindow.into());
        }
        if bytes <= COUNTED_AT_ONCE_BYTES {
            return Ok(self.counter.conversation(messages(request)));
        }
        let (counter, request) = (self.counter.clone(), Arc::clone(request));
        Ok(loaded.search_pool.run(move || Ok(counter.conversation(messages(&request)))).await?)
    }
}

fn messages(request: &ChatRequest) -> &[Value] {
    request.body["messages"].as_array().map_or(&[], Vec::as_slice)
}

/// The bytes of every text in a message, wherever it stands: in its content, in parts of it, in a name or a call.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.values().map(text_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The model that the request names, else the endpoint's.
pub(super) async fn model_of(upstream: &Upstream, request: &ChatRequest) -> Option<String> {
    match &request.model {
        Some(model) => Some(model.clone()),
        None => upstream.default_model().await,
    }
}

/// Every model that the request asks for: its own, and those that some endpoints ask when that one fails.
pub(super) fn asked_models(request: &ChatRequest) -> impl Iterator<Item = &str> {
    let others = request.body.get("models").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    request.model.as_deref().into_iter().chain(others)
}

/// There is no language model at all.
pub(super) fn no_model() -> ApiError {
    ApiError::NoModel(
        "no language model is set: set inferenceService.url, or extractive: true for the built-in one. /retrieve works without.".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_of_a_message_has_its_bytes() {
        for (message, bytes) in [
            (json!({"role": "user", "content": "12345"}), 9),
            (json!({"role": "user", "content": [{"type": "text", "text": "12345"}]}), 13),
            (json!({"content": null, "tool_calls": [{"function": {"arguments": "123"}}]}), 3),
        ] {
            assert_eq!(text_bytes(&message), bytes, "{message}");
        }
    }
}

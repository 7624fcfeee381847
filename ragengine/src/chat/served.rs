//! The language model that answers a request: its name, context window and tokenizer.

use std::sync::Arc;

use bytes::Bytes;
use ragengine_pipeline::Rejection;
use ragengine_pipeline::request::Request;
use serde_json::Value;

use super::tokens::TokenCounter;
use crate::app::{App, Loaded};
use crate::error::ApiError;
use crate::language_model::{LanguageModel, Upstream, extractive};
use ragengine_compute::{self as compute, Waiter};

/// Most bytes per token of any realistic text.
const MAX_BYTES_PER_TOKEN: u64 = 64;

/// Allowance for the JSON around the texts of a conversation, in bytes.
const JSON_BYTES: u64 = 16 << 10;

/// Conversations up to this length are counted on the current thread, which is cheaper than a switch.
pub(crate) const COUNTED_AT_ONCE_BYTES: usize = 2 << 10;

/// The language model of a request.
pub(crate) struct Served {
    /// The name in the request, or the endpoint's default model.
    pub name: Option<String>,
    /// The context window, in tokens.
    pub window_tokens: u64,
    /// Counts its tokens.
    pub counter: TokenCounter,
}

/// The messages of a conversation, and what they take of the context window.
pub(crate) struct CountedConversation {
    /// The messages.
    pub messages: Vec<Value>,
    /// Tokens of the messages and the tools.
    pub tokens: u64,
    /// Those of the tools: their JSON, which is about what the templates of models make of it.
    pub tools_tokens: u64,
}

impl Served {
    /// Finds the language model of a request, given the model that it names.
    pub async fn of(app: &App, loaded: &Loaded, model: Option<&str>) -> Result<Self, ApiError> {
        match &*app.language_model {
            LanguageModel::None => Err(no_model()),
            LanguageModel::Extractive => Ok(Self {
                name: None,
                window_tokens: extractive::WINDOW_TOKENS,
                counter: TokenCounter::Embedding(loaded.embedding.clone()),
            }),
            LanguageModel::Upstream(upstream) => {
                let name = model_of(upstream, model).await;
                let known_name = name.as_deref().unwrap_or_default();
                Ok(Self {
                    window_tokens: upstream.window_tokens(known_name).await,
                    counter: TokenCounter::Served(upstream.tokenizer(known_name)),
                    name,
                })
            }
        }
    }

    /// Whether texts of this length may fit into the window, without counting their tokens.
    pub fn may_fit(&self, bytes: usize) -> bool {
        bytes as u64 <= self.window_tokens.saturating_mul(MAX_BYTES_PER_TOKEN).saturating_add(JSON_BYTES)
    }

    /// Counts the tokens of the conversation and its tools. A conversation that cannot fit is refused without counting.
    /// A long one is counted on a compute thread, until the client disconnects.
    pub async fn conversation(&self, request: &Arc<Request>) -> Result<CountedConversation, ApiError> {
        let bytes = request.conversation.bytes() + request.tools.iter().map(Bytes::len).sum::<usize>();
        if !self.may_fit(bytes) {
            return Err(Rejection::ContextWindow.into());
        }
        let (counter, request) = (self.counter.clone(), Arc::clone(request));
        let count = move |caller: &Waiter| {
            let messages = request.conversation.values()?;
            let tools_tokens: u64 =
                request.tools.iter().map(|tools| counter.text(&String::from_utf8_lossy(tools))).sum();
            let tokens = counter.conversation(&messages, caller) + tools_tokens;
            Ok::<_, ApiError>(CountedConversation { messages, tokens, tools_tokens })
        };
        if bytes <= COUNTED_AT_ONCE_BYTES {
            return count(&Waiter::default());
        }
        compute::run_on_thread(count).await
    }
}

/// The model that a request names, or the endpoint's default model.
pub(super) async fn model_of(upstream: &Upstream, model: Option<&str>) -> Option<String> {
    match model {
        Some(model) => Some(model.to_owned()),
        None => upstream.default_model().await,
    }
}

/// All models that the request names: its model, and the fallbacks that some endpoints support.
pub(super) fn asked_models(request: &Request) -> impl Iterator<Item = &str> {
    request.model.iter().chain(&request.other_models).map(String::as_str)
}

/// The error for a server without a language model.
pub(super) fn no_model() -> ApiError {
    ApiError::NoModel(
        "no language model is set: set inferenceService.url, or extractive: true for the built-in model. /retrieve \
         works without a language model."
            .to_owned(),
    )
}

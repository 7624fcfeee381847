//! The language model that serves a request: its name, its window, its tokenizer.

use std::sync::Arc;

use ragengine_pipeline::Rejection;
use ragengine_pipeline::request::Request;
use serde_json::Value;

use super::tokens::TokenCounter;
use crate::app::{App, Loaded};
use crate::error::ApiError;
use crate::language_model::{LanguageModel, Upstream, extractive};
use ragengine_compute::{self as compute, Waiter};

/// No text has more bytes in a token than this, but for one that nobody wrote.
const MAX_BYTES_PER_TOKEN: u64 = 64;

/// Bytes that the JSON around the texts of a short conversation may take.
const JSON_BYTES: u64 = 16 << 10;

/// A conversation this short is counted at once: handing it to another thread would cost more.
const COUNTED_AT_ONCE_BYTES: usize = 2 << 10;

/// The model that answers, its window and its tokenizer.
pub(super) struct Served {
    /// Its name, as the request has it or else the endpoint.
    pub name: Option<String>,
    /// Its context window.
    pub window_tokens: u64,
    /// How its tokens are counted.
    pub counter: TokenCounter,
}

impl Served {
    /// The model that serves a request.
    pub async fn of(app: &App, loaded: &Loaded, request: &Request) -> Result<Self, ApiError> {
        match &*app.language_model {
            LanguageModel::None => Err(no_model()),
            LanguageModel::Extractive => Ok(Self {
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
                    name,
                })
            }
        }
    }

    /// The conversation as it was sent, and its tokens. One that cannot fit is refused before it is counted, and counting a long one is
    /// kept from the threads that serve requests. It ends before the next message when the caller has left.
    pub async fn conversation(&self, request: &Arc<Request>) -> Result<(Vec<Value>, u64), ApiError> {
        let bytes = request.conversation.bytes();
        if bytes as u64 > self.window_tokens.saturating_mul(MAX_BYTES_PER_TOKEN).saturating_add(JSON_BYTES) {
            return Err(Rejection::ContextWindow.into());
        }
        let (counter, request) = (self.counter.clone(), Arc::clone(request));
        let count = move |caller: &Waiter| {
            let messages = request.conversation.values()?;
            let tokens = counter.conversation(&messages, caller);
            Ok::<_, ApiError>((messages, tokens))
        };
        match bytes <= COUNTED_AT_ONCE_BYTES {
            true => count(&Waiter::default()),
            false => compute::elsewhere(count).await,
        }
    }
}

/// The model that the request names, else the endpoint's.
pub(super) async fn model_of(upstream: &Upstream, request: &Request) -> Option<String> {
    match &request.model {
        Some(model) => Some(model.clone()),
        None => upstream.default_model().await,
    }
}

/// Every model that the request asks for: its own, and those that some endpoints ask when that one fails.
pub(super) fn asked_models(request: &Request) -> impl Iterator<Item = &str> {
    request.model.iter().chain(&request.other_models).map(String::as_str)
}

/// There is no language model at all.
pub(super) fn no_model() -> ApiError {
    ApiError::NoModel(
        "no language model is set: set inferenceService.url, or extractive: true for the built-in one. /retrieve works without.".to_owned(),
    )
}

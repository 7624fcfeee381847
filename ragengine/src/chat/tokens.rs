use ragengine_pipeline::tokens;
use serde_json::Value;

use crate::embedding::Embedding;

/// Counts tokens as the served model does, or on the safe side of it.
#[derive(Clone)]
pub(super) enum TokenCounter {
    /// The embedding model's own tokenizer, for the built-in model.
    Embedding(Embedding),
    /// Three bytes a token.
    Estimate,
}

impl TokenCounter {
    /// The tokens of a text alone.
    pub fn text(&self, text: &str) -> u64 {
        match self {
            Self::Embedding(embedding) => embedding.count_tokens(text) as u64,
            Self::Estimate => tokens::estimate(text),
        }
    }

    /// The tokens of a conversation with its template.
    pub fn conversation(&self, messages: &[Value]) -> u64 {
        tokens::conversation(messages, |text| self.text(text))
    }
}

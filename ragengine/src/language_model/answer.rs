use axum::http::HeaderValue;
use bytes::Bytes;
use ragengine_pipeline::stream::Whole;

use super::LlmError;

/// A whole answer of the language model.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The content type of the reply. None for the built-in model.
    pub content_type: Option<HeaderValue>,
    /// The parsed answer: the text and finish reason of each choice, and the reported tokens.
    pub said: Whole,
    /// The original bytes of the answer in OpenAI's format. They are valid UTF-8.
    pub raw: Bytes,
}

impl Answer {
    /// Parses an answer. Errors do not quote it, because it may contain a user's text or the key.
    ///
    /// # Errors
    ///
    /// [`LlmError::Nonsense`] if it is not JSON.
    pub(super) fn read(content_type: Option<HeaderValue>, raw: Bytes) -> Result<Self, LlmError> {
        let nonsense = |what: &str| LlmError::Nonsense(format!("{what}, of {} bytes", raw.len()));
        let text = std::str::from_utf8(&raw).map_err(|_| nonsense("it is not text"))?;
        let said = Whole::read(text).ok_or_else(|| nonsense("it is not JSON"))?;
        Ok(Self { content_type, said, raw })
    }

    /// The text of the first choice. Empty if there is none.
    pub fn text(&self) -> &str {
        self.said.choices.first().map_or("", |choice| &choice.text)
    }
}

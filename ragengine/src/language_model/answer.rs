use axum::http::HeaderValue;
use bytes::Bytes;
use ragengine_pipeline::stream::{Choice, Whole};

use super::LlmError;

/// A whole answer of the language model.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The content type of the reply. None for the built-in model.
    pub content_type: Option<HeaderValue>,
    /// The reported tokens and the time of creation.
    pub said: Whole,
    /// The original bytes, in OpenAI's format. They are valid UTF-8.
    pub raw: Bytes,
}

impl Answer {
    /// Parses an answer. Errors do not quote it, because it may contain a user's text or the key.
    ///
    /// # Errors
    ///
    /// [`LlmError::Nonsense`] if it is not JSON.
    pub(super) fn read(content_type: Option<HeaderValue>, raw: Bytes) -> Result<Self, LlmError> {
        let said = Whole::read(text(&raw)?).ok_or_else(|| nonsense("it is not JSON", &raw))?;
        Ok(Self { content_type, said, raw })
    }

    /// The original answer as text.
    ///
    /// # Errors
    ///
    /// [`LlmError::Nonsense`] if it is not UTF-8, which parsing rules out.
    pub fn json(&self) -> Result<&str, LlmError> {
        text(&self.raw)
    }

    /// The text and finish reason of each choice, parsed at each call, because chats that are passed through do not
    /// need them.
    pub fn choices(&self) -> Vec<Choice> {
        self.json().map(Choice::read_all).unwrap_or_default()
    }

    /// The text of the first choice. Empty if there is none.
    pub fn text(&self) -> String {
        self.choices().into_iter().next().map_or_else(String::new, |choice| choice.text)
    }
}

fn text(raw: &[u8]) -> Result<&str, LlmError> {
    std::str::from_utf8(raw).map_err(|_| nonsense("it is not text", raw))
}

fn nonsense(what: &str, raw: &[u8]) -> LlmError {
    LlmError::Nonsense(format!("{what}, of {} bytes", raw.len()))
}

//! The key of a vector database, which is never printed.

use std::fmt;

use crate::VectorDatabaseError;

/// A key. `Debug` prints `***`; there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a value. White space around it, such as a file's last line break, is removed.
    pub fn new(value: impl AsRef<str>) -> Self {
        Self(value.as_ref().trim().to_owned())
    }

    /// The key itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Fails if a header cannot have the key.
    pub(crate) fn check(&self) -> Result<(), VectorDatabaseError> {
        if self.0.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
            return Ok(());
        }
        let reason = "it has characters that a header cannot have".to_owned();
        Err(VectorDatabaseError::Setting { setting: "vectorDB.apiKey", reason })
    }

    /// The value of the header that sends it.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The text without the key, which a server may repeat in a message.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "***") }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::ApiKey;

    #[test]
    fn neither_debug_nor_a_redacted_text_shows_the_key() {
        let key = ApiKey::new(" k-123\n");
        assert_eq!((format!("{key:?}"), key.header()), ("***".to_owned(), "Bearer k-123".to_owned()));
        assert!(key.check().is_ok() && ApiKey::new("a\nb").check().is_err() && ApiKey::new("ä").check().is_err());
        assert_eq!((key.redact("no key k-123!"), ApiKey::new("").redact("abc")), ("no key ***!".into(), "abc".into()));
    }
}

//! The key of Weaviate, which is never printed.

use std::fmt;

/// A key. `Debug` prints `***`; there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a value. White space around it, such as a file's last line break, is removed.
    pub fn new(value: impl AsRef<str>) -> Self {
        Self(value.as_ref().trim().to_owned())
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
        assert_eq!((key.redact("no key k-123!"), ApiKey::new("").redact("abc")), ("no key ***!".into(), "abc".into()));
    }
}

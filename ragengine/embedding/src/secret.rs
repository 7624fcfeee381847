//! A secret value that is never printed.

use std::fmt;

/// A key or token. `Debug` prints `***`; there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value; surrounding white space (a file's last line break) is removed.
    pub fn new(value: impl AsRef<str>) -> Self {
        Self(value.as_ref().trim().to_owned())
    }

    /// The value, for sending it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the value in `text` with `***`, because an upstream server may repeat the key in an
    /// error.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.0, "***")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn neither_debug_nor_a_redacted_text_shows_the_value() {
        let secret = Secret::new("sk-123\n");
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(secret.expose(), "sk-123");
        assert_eq!(secret.redact("wrong key sk-123!"), "wrong key ***!");
        assert_eq!(Secret::new("").redact("abc"), "abc");
    }
}

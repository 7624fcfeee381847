//! A value that must not be printed.

use std::fmt;

/// A key or token. `Debug` prints `***`; there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value; surrounding white space (a file's last line break) is removed.
    pub fn new(value: impl AsRef<str>) -> Self {
        Self(value.as_ref().trim().to_owned())
    }

    /// The value itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of the value replaced by `***`: an upstream may repeat a key in its error.
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

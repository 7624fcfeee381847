//! What stands in place of a match.

use sha2::{Digest, Sha256};

/// In place of a match that has no better replacement.
pub(crate) const REDACTED: &str = "[REDACTED]";

/// What stands in place of a match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replacement {
    /// A fixed text.
    Text(&'static str),
    /// The first and the last two characters, with two dots between them.
    Partial,
    /// The SHA-256 of the match as 64 hexadecimal digits: equal secrets have equal replacements.
    Hash,
}

impl Replacement {
    /// Appends the replacement of `found`.
    pub fn write(self, found: &str, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Hash => out.push_str(&hex::encode(Sha256::digest(found.as_bytes()))),
            Self::Partial => {
                out.extend(found.chars().take(2));
                out.push_str("..");
                let tail = found.char_indices().rev().nth(1).map_or(0, |(offset, _)| offset);
                out.push_str(&found[tail..]);
            }
        }
    }
}

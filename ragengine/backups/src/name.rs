use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};

/// The number of hexadecimal digits of a writer's mark.
const MARK_DIGITS: usize = 8;

/// The name of a backup: `ragengine-20261102T023000Z-1a2b3c4d.tar`. Names sort by time, then by writer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name of a backup that starts at this time. `writer` identifies who writes it, such as the uid of a RAGEngine;
    /// the mark at the end is its hash.
    pub fn at(time: Timestamp, writer: &str) -> Self {
        let time = time.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string();
        Self(format!("ragengine-{time}-{}.tar", mark(writer)))
    }

    /// Reads a name. `None` if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, mark) = text.strip_prefix("ragengine-")?.strip_suffix(".tar")?.split_once('-')?;
        let is_time = time.len() == 16
            && time.bytes().enumerate().all(|(place, byte)| match place {
                8 => byte == b'T',
                15 => byte == b'Z',
                _ => byte.is_ascii_digit(),
            });
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_mark = mark.len() == MARK_DIGITS && mark.bytes().all(is_digit);
        (is_time && is_mark).then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this writer made the backup.
    pub fn is_of(&self, writer: &str) -> bool {
        self.0.ends_with(&format!("-{}.tar", mark(writer)))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn mark(writer: &str) -> String {
    let mut digits = hex::encode(Sha256::digest(writer));
    digits.truncate(MARK_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_carry_their_writer() {
        let at = |time: &str| Name::at(time.parse().unwrap(), "a");
        let (old, new) = (at("2025-12-31T23:59:59Z"), at("2026-01-01T00:00:00Z"));
        assert_eq!(new.as_str(), "ragengine-20260101T000000Z-ca978112.tar");
        assert!(old < new && new.is_of("a") && !new.is_of("b"));
        assert_eq!(Name::parse(new.as_str()), Some(new));
    }

    #[test]
    fn other_objects_are_not_backups() {
        for other in [
            "notes.txt",
            "ragengine-20260101T000000Z.tar",
            "ragengine-20260101T000000Z-ca97811.tar",
            "ragengine-20260101T000000Z-CA978112.tar",
            "ragengine-2026-0101T00000Z-ca978112.tar",
            "ragengine-20260101T000000Z-ca978112.tar.json",
            "old/ragengine-20260101T000000Z-ca978112.tar",
        ] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }
}

//! Findings about a resource, which become its conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};

use crate::apply::Refused;

/// A finding: the reason and the message of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The machine-readable reason.
    pub reason: Reason,
    /// What is wrong, of which object, and what to do.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The common input of all conditions of a resource.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// The conditions that were written last. A condition whose status did not change keeps its transition time.
    pub previous: &'a [Condition],
    /// The generation that was acted on.
    pub observed_generation: Option<i64>,
    /// The current time.
    pub now: &'a Time,
}

impl Conditions<'_> {
    /// Builds the condition of this type.
    pub fn condition(&self, type_: ConditionType, (status, finding): (ConditionStatus, Finding)) -> Condition {
        let before = self.previous.iter().find(|condition| condition.type_ == type_ && condition.status == status);
        Condition {
            type_,
            status,
            reason: finding.reason,
            message: finding.message,
            last_transition_time: before.map_or_else(|| self.now.clone(), |before| before.last_transition_time.clone()),
            observed_generation: self.observed_generation,
        }
    }
}

/// Why a specification is invalid: one message for each violation, with its correction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Invalid(pub Vec<String>);

/// Shortens a text of another program to one line of at most `max_chars`. An ellipsis marks a text that was cut.
pub(crate) fn quoted(text: &str, max_chars: usize) -> String {
    let is_cut = text.chars().nth(max_chars).is_some();
    let kept = if is_cut { max_chars.saturating_sub(1) } else { max_chars };
    let line = text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(kept);
    line.chain(is_cut.then_some('…')).collect()
}

/// The text without a full stop at its end, for a message that continues after it.
pub(crate) fn unended(text: &str) -> &str {
    text.trim_end().trim_end_matches('.')
}

/// A refused object, and what follows.
pub(crate) fn refusal(refused: &Refused) -> String {
    format!("{}. The operator tries again", unended(&refused.to_string()))
}

/// A number with its noun: `1 document`, `2 documents`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Shortens a text to at most `max_bytes` and replaces control characters by spaces.
pub(crate) fn shortened(text: &str, max_bytes: usize) -> String {
    let mut short = String::new();
    for character in text.chars().map(|character| if character.is_control() { ' ' } else { character }) {
        if short.len() + character.len_utf8() > max_bytes {
            break;
        }
        short.push(character);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_ends_with_an_ellipsis() {
        for (text, expected) in [("é2345", "é2345"), ("é23456", "é234…"), ("a\nb", "a b"), ("", "")] {
            assert_eq!(quoted(text, 5), expected);
        }
    }

    #[test]
    fn a_count_has_its_noun() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "file")), ["0 files", "1 file", "2 files"]);
    }

    #[test]
    fn a_full_stop_is_not_doubled() {
        assert_eq!([unended("a."), unended("a"), unended("a.b. ")], ["a", "a", "a.b"]);
    }
}

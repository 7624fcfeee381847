use regex_automata::meta::Regex;

use super::{Json, regex};
use crate::patterns::Patterns;
use crate::redaction::REDACTED;

/// What a scanner of whole answers says.
pub(crate) enum Verdict {
    /// Nothing is wrong.
    Pass,
    /// This text is right, whatever the action is.
    Mend(String),
    /// Something is wrong. This text has it redacted.
    Redact(String),
    /// The whole answer is wrong.
    Refuse,
}

/// A scanner that needs the whole answer.
pub(crate) enum Whole {
    /// Patterns that must not match, or of which one must match.
    Regex { regex: Regex, is_blocked: bool },
    /// Phrases that must not occur all together.
    ContainsAll { each: Vec<Regex>, patterns: Box<Patterns> },
    /// Valid JSON.
    Json(Json),
}

impl Whole {
    /// Whether it finds text that must not be there.
    pub fn finds_forbidden(&self) -> bool {
        matches!(self, Self::Regex { is_blocked: true, .. } | Self::ContainsAll { .. })
    }

    pub fn judge(&self, text: &str) -> Verdict {
        match self {
            Self::Regex { regex, is_blocked } if regex::is_match(regex, text) == *is_blocked => Verdict::Refuse,
            Self::ContainsAll { each, patterns } if each.iter().all(|one| regex::is_match(one, text)) => {
                Verdict::Redact(without(patterns, text))
            }
            Self::Regex { .. } | Self::ContainsAll { .. } => Verdict::Pass,
            Self::Json(json) => json.judge(text),
        }
    }
}

fn without(patterns: &Patterns, text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut done = 0;
    while let Some(found) = patterns.find(text, done) {
        redacted.push_str(&text[done..found.range.start]);
        // Phrases have no other condition, so every place found is a match.
        redacted.push_str(REDACTED);
        done = found.range.end;
    }
    redacted.push_str(&text[done..]);
    redacted
}

//! Findings about a resource, which become its conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};

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

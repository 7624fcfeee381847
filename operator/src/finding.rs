//! What is found out about a resource, in the words of its conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};

/// Something that is found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// In one word.
    pub reason: Reason,
    /// In words.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// What conditions have in common.
#[derive(Debug, Clone, Copy)]
pub struct Conditions<'a> {
    /// Those that were told last. A condition whose status did not change keeps the time of its last change.
    pub previous: &'a [Condition],
    /// The generation that was acted on.
    pub observed_generation: Option<i64>,
    /// The time.
    pub now: &'a Time,
}

impl Conditions<'_> {
    /// The condition of this type.
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

/// Why a specification cannot be built: everything that is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Invalid(pub Vec<String>);

/// As much of a text as there is room for, without what takes more room than it says.
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

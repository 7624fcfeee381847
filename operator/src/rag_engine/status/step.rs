//! A step that is not finished, and what it means for clients.

use ragengine_operator_api::{Condition, ConditionStatus, ConditionType};

use crate::finding::{Conditions, Finding};

/// A step that is not finished.
pub(super) struct Step {
    /// The step.
    pub finding: Finding,
    /// What it means for clients.
    pub clients: Clients,
}

/// What a step means for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clients {
    /// Too few pods serve, or the pods stop before the next ones serve.
    NotServed,
    /// Enough pods serve until the step is finished.
    Served,
    /// The operator has nothing new to say about the pods: it is as before, for the same specification.
    AsBefore,
}

/// What the conditions said before about the generation that is acted on.
pub(super) struct Before {
    /// Whether Ready was True.
    pub was_ready: bool,
    /// Whether Progressing was True or unknown.
    pub was_progressing: bool,
}

impl Before {
    pub(super) fn of(common: Conditions<'_>) -> Self {
        let is = |type_, status| {
            let is_same =
                |found: &&Condition| found.type_ == type_ && found.observed_generation == common.observed_generation;
            common.previous.iter().find(is_same).is_some_and(|found| found.status == status)
        };
        Self {
            was_ready: is(ConditionType::Ready, ConditionStatus::True),
            was_progressing: !is(ConditionType::Progressing, ConditionStatus::False),
        }
    }
}

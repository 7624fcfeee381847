use std::sync::Arc;

use crate::apply::{ApplyError, ApplyOutcome, Freshness, Refused};

/// The combined results of all objects.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Whether the caches do not show the objects yet.
    pub is_lagging: bool,
    /// The first temporary failure.
    pub failed: Option<ApplyError>,
    /// The objects that the API server or the operator refused.
    pub refused: Vec<Refused>,
}

impl Outcomes {
    /// Records the result of one object and returns its current state.
    pub fn take<K>(&mut self, outcome: ApplyOutcome<K>) -> Option<Arc<K>> {
        self.note(outcome.result);
        outcome.live
    }

    /// Records the result of one object.
    pub fn note(&mut self, result: Result<Freshness, ApplyError>) {
        match result {
            Ok(freshness) => self.is_lagging |= freshness == Freshness::Lagging,
            Err(ApplyError::Refused(refused)) => self.refused.push(refused),
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
    }

    /// Whether all objects so far were applied.
    pub fn are_well(&self) -> bool {
        self.refused.is_empty() && self.failed.is_none()
    }

    /// All refusals combined into one.
    pub fn refusal(&self) -> Option<Refused> {
        let messages: Vec<&str> = self.refused.iter().map(|refused| refused.message.as_str()).collect();
        (!messages.is_empty()).then(|| Refused { message: messages.join("; ") })
    }
}

use std::sync::Arc;

use crate::apply::{ApplyError, Freshness, ApplyOutcome, Refused};

/// What became of all objects.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Whether the caches do not show them yet.
    pub is_lagging: bool,
    /// The first that could not be applied, and may be another time.
    pub failed: Option<ApplyError>,
    /// Those that the API server, or this operator, will not have.
    pub refused: Vec<Refused>,
}

impl Outcomes {
    /// Notes what became of one, and gives what there is of it now.
    pub fn take<K>(&mut self, outcome: ApplyOutcome<K>) -> Option<Arc<K>> {
        self.note(outcome.result);
        outcome.live
    }

    /// Notes what became of one.
    pub fn note(&mut self, result: Result<Freshness, ApplyError>) {
        match result {
            Ok(freshness) => self.is_lagging |= freshness == Freshness::Lagging,
            Err(ApplyError::Refused(refused)) => self.refused.push(refused),
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
    }

    /// Whether all until now are as they were asked to be.
    pub fn are_well(&self) -> bool {
        self.refused.is_empty() && self.failed.is_none()
    }

    /// All refusals as one.
    pub fn refusal(&self) -> Option<Refused> {
        let (first, others) = self.refused.split_first()?;
        let more = others.iter().map(|refused| format!("; {refused}")).collect::<String>();
        Some(Refused { object: first.object.clone(), message: format!("{}{more}", first.message) })
    }
}

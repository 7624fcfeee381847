//! Computes the status of an engine from what was applied.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, RagEngine, RagEngineStatus, Reason};

use super::apply::Applied;
use super::prepare::EngineInput;
use super::status;
use crate::context::{Context, Statuses};
use crate::defaults::Defaults;
use crate::error::Error;
use crate::finding::{Conditions, Finding, quoted, unended};
use crate::names::Kind;
use crate::report::Reported;
use crate::times::whole_seconds;

/// A status that may be written. Only [`status_update`] creates one, so it always describes what was applied.
#[derive(Debug)]
pub struct StatusUpdate {
    status: RagEngineStatus,
    is_done: bool,
}

impl StatusUpdate {
    /// Whether no change is in progress, no problem is known and nothing is held.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The status of an engine that is being deleted and cannot go yet. Everything else stays as it was.
    pub fn not_released(engine: &RagEngine, before: &RagEngineStatus, error: &Error) -> Self {
        let message = format!(
            "the engine is not deleted yet, because nodes were made for it and cannot be deleted: {}. \
             The operator tries again",
            unended(&quoted(&error.to_string(), 600))
        );
        let finding = Finding::new(Reason::DeletionFailed, message);
        let now = Time(whole_seconds(Timestamp::now()));
        let observed_generation = engine.metadata.generation;
        let common = Conditions { previous: &before.conditions, observed_generation, now: &now };
        let failed = common.condition(ConditionType::Degraded, (ConditionStatus::True, finding));
        let mut status = before.clone();
        match status.conditions.iter_mut().find(|condition| condition.type_ == ConditionType::Degraded) {
            Some(degraded) => *degraded = failed,
            None => status.conditions.push(failed),
        }
        Self { status, is_done: false }
    }
}

impl From<StatusUpdate> for RagEngineStatus {
    fn from(update: StatusUpdate) -> Self {
        update.status
    }
}

impl Reported for RagEngine {
    const KIND: Kind = Kind::Engine;
    type Update = StatusUpdate;

    fn statuses(context: &Context) -> &Statuses<RagEngineStatus> {
        &context.statuses
    }

    fn conditions(status: &RagEngineStatus) -> &[Condition] {
        &status.conditions
    }
}

/// Computes the status. `remains` is why the documents of a deleted Index could not be removed.
pub fn status_update(
    input: EngineInput<'_>,
    applied: &Applied,
    remains: Option<&Finding>,
    defaults: &Defaults,
    now: &Time,
) -> StatusUpdate {
    let EngineInput { engine, validated, before } = input;
    let input = status::StatusInput {
        engine,
        invalid: validated.map_or_else(Some, |validated| validated.wrong_template.as_ref()),
        refused: applied.refused(),
        observed: applied.observed(),
        remains,
        is_current: !applied.is_lagging(),
        hold: applied.hold(),
    };
    StatusUpdate { status: status::status(input, before, defaults, now), is_done: status::is_done(input) }
}

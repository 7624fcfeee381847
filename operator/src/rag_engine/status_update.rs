//! Computes the status of an engine from what was applied.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, RagEngine, RagEngineStatus};

use super::apply::Applied;
use super::prepare::EngineInput;
use super::status;
use crate::context::{Context, Statuses};
use crate::defaults::Defaults;
use crate::finding::Finding;
use crate::names::Kind;
use crate::report::Reported;

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

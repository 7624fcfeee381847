//! What is told of an engine: of what was applied, and of nothing else.

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

/// A status that may be written: it says what was applied, and only [`status_update`] makes one.
#[derive(Debug)]
pub struct StatusUpdate {
    status: RagEngineStatus,
    is_done: bool,
}

impl StatusUpdate {
    /// Whether nothing is on its way, wrong or held.
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

/// Says what became of it. `remains` is why documents of an Index that is gone could not be deleted.
pub fn status_update(asked: EngineInput<'_>, applied: &Applied, remains: Option<&Finding>, defaults: &Defaults, now: &Time) -> StatusUpdate {
    let known = status::StatusInput {
        engine: asked.engine,
        invalid: asked.validated.map_or_else(Some, |validated| validated.wrong_template.as_ref()),
        refused: applied.refused(),
        observed: applied.observed(),
        remains,
        is_current: !applied.is_lagging(),
        hold: applied.hold(),
    };
    StatusUpdate { status: status::status(known, asked.before, defaults, now), is_done: status::is_done(known) }
}

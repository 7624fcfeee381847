//! What is told of an engine: of what was applied, and of nothing else.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, RagEngine, RagEngineStatus};

use super::apply::Applied;
use super::prepare::Asked;
use super::status;
use crate::context::{Context, Statuses};
use crate::defaults::Defaults;
use crate::finding::Finding;
use crate::names::Kind;
use crate::report::Reported;

/// A status that may be written: it says what was applied, and only [`tell`] makes one.
#[derive(Debug)]
pub struct Told {
    status: RagEngineStatus,
    is_done: bool,
}

impl Told {
    /// Whether nothing is on its way, wrong or held.
    pub fn is_done(&self) -> bool {
        self.is_done
    }
}

impl From<Told> for RagEngineStatus {
    fn from(told: Told) -> Self {
        told.status
    }
}

impl Reported for RagEngine {
    const KIND: Kind = Kind::Engine;
    type Told = Told;

    fn statuses(context: &Context) -> &Statuses<RagEngineStatus> {
        &context.statuses
    }

    fn conditions(status: &RagEngineStatus) -> &[Condition] {
        &status.conditions
    }
}

/// Says what became of it. `remains` is why documents of an Index that is gone could not be deleted.
pub fn tell(asked: Asked<'_>, applied: &Applied, remains: Option<&Finding>, defaults: &Defaults, now: &Time) -> Told {
    let known = status::Known {
        engine: asked.engine,
        invalid: asked.validated.map_or_else(Some, |validated| validated.wrong_template.as_ref()),
        refused: applied.refused(),
        observed: applied.observed(),
        remains,
        is_current: !applied.is_lagging(),
        hold: applied.hold(),
    };
    Told { status: status::status(known, asked.before, defaults, now), is_done: status::is_done(known) }
}

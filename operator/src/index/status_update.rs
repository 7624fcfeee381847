//! Computes the status of an Index from what was applied.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, Index, IndexStatus};

use super::apply::Applied;
use super::plan::PlanInput;
use super::status;
use crate::context::{Context, Statuses};
use crate::names::Kind;
use crate::report::Reported;

/// A status that may be written. Only [`status_update`] creates one, so it always describes what was applied.
#[derive(Debug)]
pub struct StatusUpdate(IndexStatus);

impl From<StatusUpdate> for IndexStatus {
    fn from(update: StatusUpdate) -> Self {
        update.0
    }
}

impl Reported for Index {
    const KIND: Kind = Kind::Index;
    type Update = StatusUpdate;

    fn statuses(context: &Context) -> &Statuses<IndexStatus> {
        &context.index_statuses
    }

    fn conditions(status: &IndexStatus) -> &[Condition] {
        &status.conditions
    }
}

/// Computes the status.
pub fn status_update(input: PlanInput<'_>, applied: &Applied, now: &Time) -> StatusUpdate {
    let PlanInput { index, observed, status: settled, .. } = input;
    let input = status::StatusInput { index, observed, plan: applied.plan(), settled, refused: applied.refused() };
    StatusUpdate(status::status(input, now))
}

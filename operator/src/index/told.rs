//! What is told of an Index: of what was applied, and of nothing else.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, Index, IndexStatus};

use super::apply::Applied;
use super::plan::Known;
use super::status;
use crate::context::{Context, Statuses};
use crate::names::Kind;
use crate::report::Reported;

/// A status that may be written: it says what was applied, and only [`tell`] makes one.
#[derive(Debug)]
pub struct Told(IndexStatus);

impl From<Told> for IndexStatus {
    fn from(told: Told) -> Self {
        told.0
    }
}

impl Reported for Index {
    const KIND: Kind = Kind::Index;
    type Told = Told;

    fn statuses(context: &Context) -> &Statuses<IndexStatus> {
        &context.index_statuses
    }

    fn conditions(status: &IndexStatus) -> &[Condition] {
        &status.conditions
    }
}

/// Says what became of it.
pub fn tell(known: Known<'_>, applied: &Applied, now: &Time) -> Told {
    let Known { index, observed, status: settled, .. } = known;
    let known = status::Known { index, observed, plan: applied.plan(), settled, refused: applied.refused() };
    Told(status::status(known, now))
}

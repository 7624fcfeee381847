//! When an engine is looked at again though nothing has happened: pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use ragengine_operator_api::RagEngine;

use super::apply::Applied;
use super::hold::Hold;
use super::observe::stuck_since;
use crate::apply::ApplyError;
use crate::departed::DeletionProgress;
use crate::error::Error;
use crate::warnings;

/// What the caches do not show yet is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Who waits for a turn asks for it again after this time.
const NEXT_TURN: Duration = Duration::from_secs(10);

/// When no problem is known: everything is watched but events, turns and the time.
///
/// # Errors
///
/// What was refused, or could not be deleted. It is tried again, as whatever fails.
pub fn next(engine: &RagEngine, applied: Applied, deletion: DeletionProgress, now: Timestamp) -> Result<Action, Error> {
    let for_events = stuck_since(applied.observed(), engine.spec.replicas).map(|since| warnings::next_look(since, now));
    let for_caches = applied.is_lagging().then_some(LOOK_AGAIN);
    let next_turn = matches!(applied.hold(), Some(Hold::Queued { .. })).then_some(NEXT_TURN);
    let next = [for_events, for_caches, next_turn, deletion.look_again].into_iter().flatten().min();
    let refused = applied.into_refused().map(|refused| ApplyError::Refused(refused).into());
    match refused.or(deletion.error) {
        Some(error) => Err(error),
        None => Ok(next.map_or_else(Action::await_change, Action::requeue)),
    }
}

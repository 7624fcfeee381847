//! Decides when an engine is reconciled again without an event. Pure functions.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;
use ragengine_operator_api::RagEngine;

use super::apply::Applied;
use super::hold::Hold;
use super::observe::stuck_since;
use crate::apply::ApplyError;
use crate::deleted_index::DeletionProgress;
use crate::error::Error;
use crate::warnings;

/// The interval while the caches do not show the applied objects.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// The interval at which an engine asks for its turn to roll out.
const NEXT_TURN: Duration = Duration::from_secs(10);
/// The interval at which a NodeClaim that is gone again may be made, and NodeClaims that could not be read are.
const NEXT_NODE: Duration = Duration::from_secs(10);

/// The next reconcile. Everything except events, turns and time is watched.
///
/// # Errors
///
/// The refused objects, or the deletion that failed. The controller tries again with a back-off.
pub fn next(engine: &RagEngine, applied: Applied, deletion: DeletionProgress, now: Timestamp) -> Result<Action, Error> {
    let for_events = stuck_since(applied.observed(), engine.spec.replicas).map(|since| warnings::next_look(since, now));
    let for_caches = applied.is_lagging().then_some(LOOK_AGAIN);
    let for_nodes = applied.observed().nodes.need_another_look().then_some(NEXT_NODE);
    let for_backups = applied.observed().backups.next_look(now);
    let next_turn = matches!(applied.hold(), Some(Hold::Queued { .. })).then_some(NEXT_TURN);
    let next = [for_events, for_caches, for_nodes, for_backups, next_turn, deletion.look_again];
    let next = next.into_iter().flatten().min();
    let refused = applied.into_refused().map(|refused| ApplyError::Refused(refused).into());
    match refused.or(deletion.error) {
        Some(error) => Err(error),
        None => Ok(next.map_or_else(Action::await_change, Action::requeue)),
    }
}

//! Decides when an Index is reconciled again without an event. Pure functions.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::runtime::controller::Action;

use super::apply::Applied;
use super::observe::{Observed, stuck};
use crate::apply::ApplyError;
use crate::error::Error;
use crate::sync_job::Made;
use crate::warnings;

/// The interval for objects that are not watched.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The next reconcile. Everything except events and time is watched.
///
/// # Errors
///
/// The refused object. The controller tries again with a back-off.
pub fn next(observed: &Observed, applied: Applied, now: Timestamp) -> Result<Action, Error> {
    let soon = (applied.made() == Made::AlreadyExists).then_some(LOOK_AGAIN);
    let began = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let for_events = stuck(observed).map(|pod| warnings::next_look(began(pod), now));
    // The margin makes sure that the next second has begun.
    let planned = applied.plan().look_again.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
    let planned = planned.map(|wait| wait + Duration::from_millis(100));
    let next = [soon, for_events, planned].into_iter().flatten().min();
    match applied.into_refused() {
        Some(refused) => Err(ApplyError::Refused(refused).into()),
        None => Ok(next.map_or_else(Action::await_change, Action::requeue)),
    }
}

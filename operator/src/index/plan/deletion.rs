use ragengine_operator_api::{IndexDeletionPolicy, Reason, SyncResult};

use super::obstacles::{not_ready, takes_documents};
use super::{DELETION, Known, LAG, Plan, State, Step, Work, is_held, later, retry_at, start};
use crate::index::job::{self, Stage};
use crate::index::pod;
use crate::index::wish::Wish;
use crate::rag_engine::status::Finding;

/// How to let go of an Index whose documents cannot be deleted.
pub(in crate::index) const LET_GO: &str = "To let it go without them, write deletionPolicy: Retain";

/// An Index that is being deleted goes when its documents have, or when there is nothing left to delete them from.
pub(super) fn plan(known: Known<'_>) -> Plan {
    let wish = Wish { wanted: DELETION.to_owned(), specification: DELETION.to_owned() };
    let rest = |state| Plan { step: Step::Rest, state, wish: Some(wish.clone()), look_again: None };
    let release = || Plan { step: Step::Release, ..rest(State::Runs) };
    let observed = known.observed;
    if !is_held(known.index) {
        return rest(State::Rests);
    }
    let engine = observed.engine.as_deref().filter(|engine| engine.metadata.deletion_timestamp.is_none());
    let Some(engine) = engine.filter(|_| known.index.spec.deletion_policy == IndexDeletionPolicy::Delete) else {
        return release();
    };
    let last = known.status.last_sync.as_ref().filter(|last| last.wanted == DELETION);
    if last.is_some_and(|last| last.result == SyncResult::Succeeded) {
        return release();
    }
    if let Some(found) = job::current(&observed.jobs, known.status) {
        let is_other = job::wanted(found) != DELETION;
        let step = match is_other && job::stage(found) == Stage::Running {
            true => Step::Stop(found.metadata.name.clone().unwrap_or_default()),
            false => Step::Rest,
        };
        if !is_other || step != Step::Rest {
            let obstacle = pod::of(&observed.pods, found).and_then(|pod| pod::obstacle(pod, &observed.warnings));
            return Plan { step, ..rest(obstacle.map_or(State::Runs, State::Stuck)) };
        }
    }
    // What still writes would write into what is being deleted.
    if observed.is_lagging || observed.pods.iter().any(|pod| pod::is_alive(pod)) {
        return Plan { look_again: later(known.now, LAG), ..rest(State::Runs) };
    }
    if !takes_documents(engine) {
        let Finding { reason, message } = not_ready(observed);
        return rest(State::Blocked(Finding::new(
            reason,
            format!("{message}, and its documents are deleted then. {LET_GO}"),
        )));
    }
    if let Some(token) = observed
        .references
        .iter()
        .find(|seen| !seen.is_watched && seen.version.is_none() && seen.what.starts_with("Secret "))
    {
        let message = format!("{} does not exist, which the documents are deleted with. {LET_GO}", token.what);
        return rest(State::Blocked(Finding::new(Reason::SecretMissing, message)));
    }
    match last.and_then(|last| retry_at(last.finished_at.0, known.status.attempts)) {
        Some(at) if at > known.now => Plan { look_again: Some(at), ..rest(State::Waits(at)) },
        _ => Plan { step: Step::Start(start(known, wish.clone(), Work::Delete)), ..rest(State::Runs) },
    }
}

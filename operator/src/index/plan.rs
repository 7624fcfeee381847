//! What is to be done next: pure, from what there is.

mod obstacles;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use ragengine_operator_api::{
    CONFIRM_DELETE_ANNOTATION, INDEX_FINALIZER, Index, IndexStatus, Reason, SyncResult, is_paused,
};

use super::observe::Observed;
use super::pod;
use super::validate::Validated;
use super::wish::{Wish, annotation, data_id, wish};
use crate::finding::{Finding, Invalid};
use crate::hash::hash;
use crate::job::{self, Stage};
use crate::pod::of_job;
use crate::times::{later, retry_at};

/// A cache that does not show a Job yet is looked at again after this time.
pub const LAG: SignedDuration = SignedDuration::from_secs(5);

/// What is known before anything is done.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The resource.
    pub index: &'a Index,
    /// Its specification, or why it cannot be acted on.
    pub validated: Result<&'a Validated, &'a Invalid>,
    /// What there is.
    pub observed: &'a Observed,
    /// The status, with the result of the Job that has just ended.
    pub status: &'a IndexStatus,
    /// The time.
    pub now: Timestamp,
}

/// What is to be done, and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The next step.
    pub step: Step,
    /// What the Index does.
    pub state: State,
    /// What is wanted, when that is known.
    pub wish: Option<Wish>,
    /// When it is to be looked at again though nothing has happened.
    pub look_again: Option<Timestamp>,
}

/// One step. There is never more than one at a time: what comes of it is seen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Rest,
    /// The finalizer that earlier versions have put on it is taken away.
    Release,
    /// A Job is made.
    Start(Start),
    /// The Job of this name is deleted.
    Stop(String),
}

/// A Job that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Its name.
    pub job_name: String,
    /// The name of the synchronisation.
    pub sync_id: String,
    /// The name of the last one whose result is known.
    pub after: Option<String>,
    /// What is wanted by it.
    pub wish: Wish,
    /// The value of the annotation that asks for it.
    pub sync: Option<String>,
    /// The value of the annotation that confirms deletions, where it was not acted on.
    pub confirm_delete: Option<String>,
}

/// What the Index does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing is to be done.
    Rests,
    /// A Job runs, or is about to.
    Runs,
    /// A Job has ended, and the engine has not been asked yet what became of it.
    Reads,
    /// The last one failed: it is tried again then.
    Waits(Timestamp),
    /// A synchronisation would begin, and `suspend` says no.
    Suspended,
    /// Something would be done, and the annotation says no.
    Paused,
    /// It cannot be begun.
    Blocked(Finding),
    /// It cannot be begun for now, and goes on by itself.
    NotYet(Finding),
    /// A Job was made, and its pod cannot run.
    Stuck(Finding),
}

/// Plans what follows a settled status. A result that is new is written before anything follows from it.
pub fn next(known: Known<'_>, new_result: Option<SyncResult>) -> Plan {
    let plan = plan(known);
    match new_result {
        Some(_) => Plan { step: Step::Rest, ..plan },
        None => plan,
    }
}

/// Plans the next step.
pub fn plan(known: Known<'_>) -> Plan {
    if known.index.metadata.deletion_timestamp.is_some() {
        return leaving(known);
    }
    let plan = match running(known) {
        Some(plan) => plan,
        None => resting(known),
    };
    match (is_held(known.index), &plan.step) {
        // Nothing is to wait for the operator, whatever else is left as it is.
        (true, Step::Rest | Step::Start(_)) => Plan { step: Step::Release, ..plan },
        _ if is_paused(&known.index.metadata) => paused(plan),
        _ => plan,
    }
}

/// Nothing is done. What runs goes on to its end, which is noted, and what is in the way is told.
fn paused(plan: Plan) -> Plan {
    let would_go_on = matches!(plan.step, Step::Start(_)) || matches!(plan.state, State::Waits(_)) || is_crowded(&plan);
    let state = if would_go_on { State::Paused } else { plan.state };
    Plan { step: Step::Rest, state, ..plan }
}

fn is_crowded(plan: &Plan) -> bool {
    matches!(&plan.state, State::NotYet(finding) if finding.reason == Reason::Syncing)
}

/// Somebody else's finalizer keeps it: it is not filled any more. Its documents are deleted when it is gone.
fn leaving(known: Known<'_>) -> Plan {
    let running = job::current(&known.observed.jobs, known.status).filter(|job| job::stage(job) == Stage::Running);
    let step = match (is_held(known.index), running) {
        (true, _) => Step::Release,
        (false, Some(job)) => Step::Stop(job.metadata.name.clone().unwrap_or_default()),
        (false, None) => Step::Rest,
    };
    Plan { step, state: State::Rests, wish: None, look_again: None }
}

fn is_held(index: &Index) -> bool {
    index.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == INDEX_FINALIZER)
}

/// What is wanted, when all is there that it depends on.
fn wished(known: Known<'_>) -> Option<Wish> {
    let data_id = data_id(known.observed.engine.as_deref()?)?;
    Some(wish(known.index, known.validated.ok()?, &known.observed.references, data_id, known.now))
}

/// A Job that has not been dealt with yet.
fn running(known: Known<'_>) -> Option<Plan> {
    let observed = known.observed;
    let wish = wished(known);
    let rest = |state| Plan { step: Step::Rest, state, wish: wish.clone(), look_again: None };
    let Some(found) = job::current(&observed.jobs, known.status) else {
        return observed.is_lagging.then(|| Plan { look_again: later(known.now, LAG), ..rest(State::Runs) });
    };
    if job::stage(found) != Stage::Running {
        return Some(rest(State::Reads));
    }
    let obstacle = of_job(&observed.pods, found).and_then(|pod| pod::obstacle(pod, &observed.warnings));
    let Some(obstacle) = obstacle else { return Some(rest(State::Runs)) };
    // What was wanted meanwhile may be just what it lacks.
    let is_outdated = wish.as_ref().is_some_and(|wish| wish.wanted != job::wanted(found));
    let step = match is_outdated {
        true => Step::Stop(found.metadata.name.clone().unwrap_or_default()),
        false => Step::Rest,
    };
    Some(Plan { step, look_again: later(known.now, LAG), ..rest(State::Stuck(obstacle)) })
}

/// No Job runs: one is begun when there is something to do and nothing in the way.
fn resting(known: Known<'_>) -> Plan {
    let wish = wished(known);
    let schedule = known.validated.ok().and_then(|validated| validated.schedule.as_ref());
    let next_turn = schedule.and_then(|schedule| schedule.next(known.now));
    let rest = |state| Plan { step: Step::Rest, state, wish: wish.clone(), look_again: next_turn };
    if let Some(state) = obstacles::of(known) {
        let soon = later(known.now, LAG).filter(|_| known.observed.is_cleared || known.observed.is_unbounded);
        return Plan { look_again: soon.or(next_turn), ..rest(state) };
    }
    let Some(wanted) = wish.as_ref() else {
        return rest(State::NotYet(obstacles::not_ready(known.observed)));
    };
    let last = known.status.last_sync.as_ref().filter(|last| last.wanted == wanted.wanted);
    if last.is_some_and(|last| last.result == SyncResult::Succeeded) {
        return rest(State::Rests);
    }
    if known.index.spec.suspend {
        return rest(State::Suspended);
    }
    match last.and_then(|last| retry_at(last.finished_at.0, known.status.attempts)) {
        Some(at) if at > known.now => {
            let look_again = next_turn.map_or(at, |turn| turn.min(at));
            Plan { look_again: Some(look_again), ..rest(State::Waits(at)) }
        }
        _ if known.observed.is_crowded => Plan { look_again: later(known.now, LAG), ..rest(State::NotYet(crowded())) },
        _ => Plan { step: Step::Start(start(known, wanted.clone())), ..rest(State::Runs) },
    }
}

fn crowded() -> Finding {
    Finding::new(
        Reason::Syncing,
        "it waits for its turn: as many synchronisations run as the operator lets run at a time",
    )
}

/// Named after what is wanted and what was done last, so that it cannot be made twice, and another attempt has another name.
fn start(known: Known<'_>, wish: Wish) -> Start {
    let name = known.index.metadata.name.as_deref().unwrap_or_default();
    let last = known.status.last_sync.as_ref().map(|last| (&last.id, &last.finished_at));
    let sync_id = hash(&(&known.index.metadata.uid, &wish.wanted, last));
    let handled = known.status.handled.as_ref().and_then(|handled| handled.confirm_delete.as_deref());
    let confirmed = annotation(known.index, CONFIRM_DELETE_ANNOTATION);
    Start {
        job_name: format!("{name}-sync-{}", &sync_id[..7]),
        sync_id,
        after: known.status.last_sync.as_ref().map(|last| last.id.clone()),
        wish,
        sync: annotation(known.index, ragengine_operator_api::SYNC_ANNOTATION),
        confirm_delete: confirmed.filter(|value| handled != Some(value)),
    }
}

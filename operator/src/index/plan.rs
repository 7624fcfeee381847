//! What is to be done next: pure, from what there is.

mod obstacles;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use ragengine_operator_api::{
    CONFIRM_DELETE_ANNOTATION, INDEX_FINALIZER, Index, IndexStatus, Reason, SyncResult, is_paused,
};

use super::observe::Observed;
use super::pod;
use super::validate::Validated;
use super::desired_revision::{DesiredRevision, annotation, data_id, desired_revision};
use crate::finding::{Finding, Invalid};
use crate::hash::hash;
use crate::job::{self, Stage};
use crate::pod::of_job;
use crate::times::{later, retry_at};

/// A cache that does not show a Job yet is looked at again after this time.
pub const LAG: SignedDuration = SignedDuration::from_secs(5);

/// What is known before anything is done.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
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
    pub desired_revision: Option<DesiredRevision>,
    /// When it is to be looked at again though nothing has happened.
    pub look_again: Option<Timestamp>,
}

/// One step. There is never more than one at a time: what comes of it is seen first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Wait,
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
    pub desired_revision: DesiredRevision,
    /// The value of the annotation that asks for it.
    pub sync: Option<String>,
    /// The value of the annotation that confirms deletions, where it was not acted on.
    pub confirm_delete: Option<String>,
}

/// What the Index does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing is to be done.
    Idle,
    /// A Job runs, or is about to.
    Running,
    /// A Job has ended, and the engine has not been asked yet what became of it.
    AwaitingResult,
    /// The last one failed: it is tried again then.
    RetryAt(Timestamp),
    /// A synchronisation would begin, and `suspend` says no.
    Suspended,
    /// Something would be done, and the annotation says no.
    Paused,
    /// It cannot be begun.
    Blocked(Finding),
    /// It cannot be begun for now, and goes on by itself.
    Waiting(Finding),
    /// A Job was made, and its pod cannot run.
    Stuck(Finding),
}

/// Plans what follows a settled status. A result that is new is written before anything follows from it.
pub fn next(known: PlanInput<'_>, new_result: Option<SyncResult>) -> Plan {
    let plan = plan(known);
    match new_result {
        Some(_) => Plan { step: Step::Wait, ..plan },
        None => plan,
    }
}

/// Plans the next step.
pub fn plan(known: PlanInput<'_>) -> Plan {
    if known.index.metadata.deletion_timestamp.is_some() {
        return leaving(known);
    }
    let plan = match running(known) {
        Some(plan) => plan,
        None => resting(known),
    };
    match (is_held(known.index), &plan.step) {
        // Nothing is to wait for the operator, whatever else is left as it is.
        (true, Step::Wait | Step::Start(_)) => Plan { step: Step::Release, ..plan },
        _ if is_paused(&known.index.metadata) => paused(plan),
        _ => plan,
    }
}

/// Nothing is done. What runs goes on to its end, which is noted, and what is in the way is told.
fn paused(plan: Plan) -> Plan {
    let would_go_on = matches!(plan.step, Step::Start(_)) || matches!(plan.state, State::RetryAt(_)) || is_crowded(&plan);
    let state = if would_go_on { State::Paused } else { plan.state };
    Plan { step: Step::Wait, state, ..plan }
}

fn is_crowded(plan: &Plan) -> bool {
    matches!(&plan.state, State::Waiting(finding) if finding.reason == Reason::Syncing)
}

/// Somebody else's finalizer keeps it: it is not filled any more. Its documents are deleted when it is gone.
fn leaving(known: PlanInput<'_>) -> Plan {
    let running = job::current(&known.observed.jobs, known.status).filter(|job| job::stage(job) == Stage::Running);
    let step = match (is_held(known.index), running) {
        (true, _) => Step::Release,
        (false, Some(job)) => Step::Stop(job.metadata.name.clone().unwrap_or_default()),
        (false, None) => Step::Wait,
    };
    Plan { step, state: State::Idle, desired_revision: None, look_again: None }
}

fn is_held(index: &Index) -> bool {
    index.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == INDEX_FINALIZER)
}

/// What is wanted, when all is there that it depends on.
fn desired_revision_of(known: PlanInput<'_>) -> Option<DesiredRevision> {
    let data_id = data_id(known.observed.engine.as_deref()?)?;
    Some(desired_revision(known.index, known.validated.ok()?, &known.observed.references, data_id, known.now))
}

/// A Job that has not been dealt with yet.
fn running(known: PlanInput<'_>) -> Option<Plan> {
    let observed = known.observed;
    let desired_revision = desired_revision_of(known);
    let rest = |state| Plan { step: Step::Wait, state, desired_revision: desired_revision.clone(), look_again: None };
    let Some(found) = job::current(&observed.jobs, known.status) else {
        return observed.is_lagging.then(|| Plan { look_again: later(known.now, LAG), ..rest(State::Running) });
    };
    if job::stage(found) != Stage::Running {
        return Some(rest(State::AwaitingResult));
    }
    let obstacle = of_job(&observed.pods, found).and_then(|pod| pod::obstacle(pod, &observed.warnings));
    let Some(obstacle) = obstacle else { return Some(rest(State::Running)) };
    // What was wanted meanwhile may be just what it lacks.
    let is_outdated = desired_revision.as_ref().is_some_and(|desired_revision| desired_revision.wanted != job::wanted(found));
    let step = match is_outdated {
        true => Step::Stop(found.metadata.name.clone().unwrap_or_default()),
        false => Step::Wait,
    };
    // Its pod is watched, and its events are read ever more rarely.
    Some(Plan { step, ..rest(State::Stuck(obstacle)) })
}

/// No Job runs: one is begun when there is something to do and nothing in the way.
fn resting(known: PlanInput<'_>) -> Plan {
    let desired_revision = desired_revision_of(known);
    let schedule = known.validated.ok().and_then(|validated| validated.schedule.as_ref());
    let next_turn = schedule.and_then(|schedule| schedule.next(known.now));
    let rest = |state| Plan { step: Step::Wait, state, desired_revision: desired_revision.clone(), look_again: next_turn };
    if let Some(state) = obstacles::of(known) {
        let soon = later(known.now, LAG).filter(|_| known.observed.is_cleared || known.observed.is_unbounded);
        return Plan { look_again: soon.or(next_turn), ..rest(state) };
    }
    let Some(wanted) = desired_revision.as_ref() else {
        return rest(State::Waiting(obstacles::not_ready(known.observed)));
    };
    let last = known.status.last_sync.as_ref().filter(|last| last.wanted == wanted.wanted);
    if last.is_some_and(|last| last.result == SyncResult::Succeeded) {
        return rest(State::Idle);
    }
    if known.index.spec.suspend {
        return rest(State::Suspended);
    }
    match last.and_then(|last| retry_at(last.finished_at.0, known.status.attempts)) {
        Some(at) if at > known.now => {
            let look_again = next_turn.map_or(at, |turn| turn.min(at));
            Plan { look_again: Some(look_again), ..rest(State::RetryAt(at)) }
        }
        _ if known.observed.is_crowded => Plan { look_again: later(known.now, LAG), ..rest(State::Waiting(crowded())) },
        _ => Plan { step: Step::Start(start(known, wanted.clone())), ..rest(State::Running) },
    }
}

fn crowded() -> Finding {
    Finding::new(
        Reason::Syncing,
        "waiting for a free slot: the operator runs no more synchronisations at a time (--max-jobs)",
    )
}

/// Named after what is wanted and what was done last, so that it cannot be made twice, and another attempt has another name.
fn start(known: PlanInput<'_>, desired_revision: DesiredRevision) -> Start {
    let name = known.index.metadata.name.as_deref().unwrap_or_default();
    let last = known.status.last_sync.as_ref().map(|last| (&last.id, &last.finished_at));
    let sync_id = hash(&(&known.index.metadata.uid, &desired_revision.wanted, last));
    let handled = known.status.handled.as_ref().and_then(|handled| handled.confirm_delete.as_deref());
    let confirmed = annotation(known.index, CONFIRM_DELETE_ANNOTATION);
    Start {
        job_name: format!("{name}-sync-{}", &sync_id[..7]),
        sync_id,
        after: known.status.last_sync.as_ref().map(|last| last.id.clone()),
        desired_revision,
        sync: annotation(known.index, ragengine_operator_api::SYNC_ANNOTATION),
        confirm_delete: confirmed.filter(|value| handled != Some(value)),
    }
}

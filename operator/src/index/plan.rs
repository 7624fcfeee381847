//! Plans the next step of an Index. Pure functions.

mod obstacles;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use ragengine_operator_api::{
    CONFIRM_DELETE_ANNOTATION, INDEX_FINALIZER, Index, IndexStatus, Reason, SyncResult, is_paused,
};

use super::desired_revision::{DesiredRevision, annotation, data_id, desired_revision};
use super::observe::Observed;
use super::settle::PATIENCE;
use super::validate::Validated;
use crate::finding::{Finding, Invalid};
use crate::hash::hash;
use crate::job::{self, Stage};
use crate::pod::{PodOf, obstacle, of_job};
use crate::ports::PORT;
use crate::times::{later, retry_at};

/// How long to wait for a Job that the cache does not show yet, before the next look.
pub const LAG: SignedDuration = SignedDuration::from_secs(5);

/// The input of the plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// The resource.
    pub index: &'a Index,
    /// Its validated specification, or why it is invalid.
    pub validated: Result<&'a Validated, &'a Invalid>,
    /// The observed objects.
    pub observed: &'a Observed,
    /// The previous status, with the result of the Job that has just ended.
    pub status: &'a IndexStatus,
    /// The current time.
    pub now: Timestamp,
}

/// The next step, and the state that the status reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The next step.
    pub step: Step,
    /// The state of an Index, as the status reports it.
    pub state: State,
    /// The desired revision, if it is known.
    pub desired_revision: Option<DesiredRevision>,
    /// When to reconcile again without an event.
    pub look_again: Option<Timestamp>,
}

/// A single step. Its result is observed before the next step starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Do nothing.
    Wait,
    /// Remove the finalizer that earlier versions of the operator set.
    Release,
    /// Create a Job.
    Start(Start),
    /// Delete the Job of this name.
    Stop(String),
}

/// The Job that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Its name.
    pub job_name: String,
    /// The id of the synchronisation.
    pub sync_id: String,
    /// The id of the last synchronisation whose result is known.
    pub after: Option<String>,
    /// The desired revision that it establishes.
    pub desired_revision: DesiredRevision,
    /// The value of the annotation that requests a synchronisation.
    pub sync: Option<String>,
    /// The value of the annotation that confirms deletions, unless it was already used.
    pub confirm_delete: Option<String>,
}

/// The state of an Index, as the status reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The index is in sync.
    Idle,
    /// A Job runs or is about to start.
    Running,
    /// A Job has ended, and the engine has not reported its result yet.
    AwaitingResult,
    /// The last synchronisation failed. The next attempt is at this time.
    RetryAt(Timestamp),
    /// A synchronisation is due, but `suspend` is true.
    Suspended,
    /// A synchronisation is due, but the Index is paused.
    Paused,
    /// A synchronisation cannot start until a user changes something.
    Blocked(Finding),
    /// A synchronisation cannot start yet, but will without a change by a user.
    Waiting(Finding),
    /// A Job exists, but its pod cannot run.
    Stuck(Finding),
}

/// Plans the next step. A new result is written to the status before any step follows from it.
pub fn next(input: PlanInput<'_>, new_result: Option<SyncResult>) -> Plan {
    let plan = plan(input);
    match new_result {
        Some(_) => Plan { step: Step::Wait, ..plan },
        None => plan,
    }
}

/// Plans the next step, ignoring whether the last result is new.
pub fn plan(input: PlanInput<'_>) -> Plan {
    if input.index.metadata.deletion_timestamp.is_some() {
        return leaving(input);
    }
    let plan = match running(input) {
        Some(plan) => plan,
        None => idle(input),
    };
    match (is_held(input.index), &plan.step) {
        // The finalizer is removed even while the Index is paused, so that a deletion never waits for the operator.
        (true, Step::Wait | Step::Start(_)) => Plan { step: Step::Release, ..plan },
        _ if is_paused(&input.index.metadata) => paused(plan),
        _ => plan,
    }
}

/// The plan of a paused Index: a running Job may finish and its result is noted, but nothing new starts. Problems are
/// still reported.
fn paused(plan: Plan) -> Plan {
    let would_go_on =
        matches!(plan.step, Step::Start(_)) || matches!(plan.state, State::RetryAt(_)) || is_crowded(&plan);
    let state = if would_go_on { State::Paused } else { plan.state };
    Plan { step: Step::Wait, state, ..plan }
}

fn is_crowded(plan: &Plan) -> bool {
    matches!(&plan.state, State::Waiting(finding) if finding.reason == Reason::Syncing)
}

/// The plan of an Index that is being deleted and is kept by another finalizer. It is not filled any more, and its
/// documents are removed once it is gone.
fn leaving(input: PlanInput<'_>) -> Plan {
    let running = job::current(&input.observed.jobs, input.status).filter(|job| job::stage(job) == Stage::Running);
    let step = match (is_held(input.index), running) {
        (true, _) => Step::Release,
        (false, Some(job)) => Step::Stop(job.metadata.name.clone().unwrap_or_default()),
        (false, None) => Step::Wait,
    };
    Plan { step, state: State::Idle, desired_revision: None, look_again: None }
}

fn is_held(index: &Index) -> bool {
    index.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == INDEX_FINALIZER)
}

/// The desired revision, if everything it depends on is available.
fn desired_revision_of(input: PlanInput<'_>) -> Option<DesiredRevision> {
    let data_id = data_id(input.observed.engine.as_deref()?)?;
    Some(desired_revision(input.index, input.validated.ok()?, &input.observed.references, data_id, input.now))
}

/// Why the result of a Job that has ended cannot be read, after some attempts.
fn unread(observed: &Observed, job: &Job) -> Option<Finding> {
    let record = observed.record.as_ref()?;
    let is_its = record.about.has_ended && record.about.sync_id == job::sync_id(job);
    // A server that starts does not answer either.
    (is_its && record.failures >= PATIENCE && observed.server_is_ready).then(|| {
        let message = format!(
            "the synchronisation has ended, and the operator cannot read its result from the engine at port {PORT}: \
             does a network policy let the operator's pods in?"
        );
        Finding::new(Reason::ServerUnreachable, message)
    })
}

/// The plan while a Job runs, or has a result that is not in the status yet.
fn running(input: PlanInput<'_>) -> Option<Plan> {
    let observed = input.observed;
    let desired_revision = desired_revision_of(input);
    let rest = |state| Plan { step: Step::Wait, state, desired_revision: desired_revision.clone(), look_again: None };
    let Some(found) = job::current(&observed.jobs, input.status) else {
        return observed.is_lagging.then(|| Plan { look_again: later(input.now, LAG), ..rest(State::Running) });
    };
    if job::stage(found) != Stage::Running {
        return Some(rest(unread(observed, found).map_or(State::AwaitingResult, State::Stuck)));
    }
    let name = found.metadata.name.as_deref().unwrap_or_default();
    let obstacle = of_job(&observed.pods, found).and_then(|pod| obstacle(pod, PodOf::Job(name), &observed.warnings));
    let Some(obstacle) = obstacle else { return Some(rest(State::Running)) };
    // The newer revision may fix what the stuck Job lacks.
    let is_outdated = desired_revision.as_ref().is_some_and(|desired| desired.wanted != job::wanted(found));
    let step = if is_outdated { Step::Stop(name.to_owned()) } else { Step::Wait };
    // No `look_again` is needed: the pod is watched, and its events are read at growing intervals.
    Some(Plan { step, ..rest(State::Stuck(obstacle)) })
}

/// The plan when no Job runs: start one if it is due and nothing prevents it.
fn idle(input: PlanInput<'_>) -> Plan {
    let desired_revision = desired_revision_of(input);
    let schedule = input.validated.ok().and_then(|validated| validated.schedule.as_ref());
    let next_turn = schedule.and_then(|schedule| schedule.next(input.now));
    let rest =
        |state| Plan { step: Step::Wait, state, desired_revision: desired_revision.clone(), look_again: next_turn };
    if let Some(state) = obstacles::of(input) {
        let soon = later(input.now, LAG).filter(|_| input.observed.is_cleared || input.observed.is_unbounded);
        return Plan { look_again: soon.or(next_turn), ..rest(state) };
    }
    let Some(wanted) = desired_revision.as_ref() else {
        return rest(State::Waiting(obstacles::not_ready(input.observed)));
    };
    let last = input.status.last_sync.as_ref().filter(|last| last.wanted == wanted.wanted);
    if last.is_some_and(|last| last.result == SyncResult::Succeeded) {
        return rest(State::Idle);
    }
    if input.index.spec.suspend {
        return rest(State::Suspended);
    }
    match last.and_then(|last| retry_at(last.finished_at.0, input.status.attempts)) {
        Some(at) if at > input.now => {
            let look_again = next_turn.map_or(at, |turn| turn.min(at));
            Plan { look_again: Some(look_again), ..rest(State::RetryAt(at)) }
        }
        _ if input.observed.is_crowded => Plan { look_again: later(input.now, LAG), ..rest(State::Waiting(crowded())) },
        _ => Plan { step: Step::Start(start(input, wanted.clone())), ..rest(State::Running) },
    }
}

fn crowded() -> Finding {
    Finding::new(
        Reason::Syncing,
        "waiting until another synchronisation has ended: as many run as the chart value maxJobs allows \
         (one namespace gets at most half of it)",
    )
}

/// The name depends on the desired revision and the last result. Therefore the same Job cannot be created twice, and
/// another attempt has another name.
fn start(input: PlanInput<'_>, desired_revision: DesiredRevision) -> Start {
    let name = input.index.metadata.name.as_deref().unwrap_or_default();
    let last = input.status.last_sync.as_ref().map(|last| (&last.id, &last.finished_at));
    let sync_id = hash(&(&input.index.metadata.uid, &desired_revision.wanted, last));
    let handled = input.status.handled.as_ref().and_then(|handled| handled.confirm_delete.as_deref());
    let confirmed = annotation(input.index, CONFIRM_DELETE_ANNOTATION);
    Start {
        job_name: format!("{name}-sync-{}", &sync_id[..7]),
        sync_id,
        after: input.status.last_sync.as_ref().map(|last| last.id.clone()),
        desired_revision,
        sync: annotation(input.index, ragengine_operator_api::SYNC_ANNOTATION),
        confirm_delete: confirmed.filter(|value| handled != Some(value)),
    }
}

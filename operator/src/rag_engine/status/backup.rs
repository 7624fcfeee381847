//! The status of backups, from the Jobs and pods of the CronJob.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{BackupStatus, ConditionStatus, RagEngine, Reason};
use ragengine_settings::backup::NoBackup;

use crate::finding::{Finding, shortened, unended};
use crate::job::{self, Stage};
use crate::pod::{self, PodOf};
use crate::rag_engine::backups::{self, ObservedBackups, Outcome};
use crate::rag_engine::observe::Observed;

/// The longest message of a failed backup, in bytes.
const MAX_MESSAGE_BYTES: usize = 600;

/// The status of backups. What Kubernetes no longer shows stays as it was in `previous`. `None` if the specification asks
/// for none.
pub(super) fn backup(
    engine: &RagEngine,
    observed: &ObservedBackups,
    previous: Option<&BackupStatus>,
    now: &Time,
) -> Option<BackupStatus> {
    engine.spec.backup.as_ref()?;
    let mut status = previous.cloned().unwrap_or_default();
    for (job, time) in observed.ended(Stage::Complete) {
        let outcome = observed.outcome(job, &time, now.0);
        succeeded(&mut status, outcome, time);
    }
    if let Some((job, time)) = observed.ended(Stage::Failed).pop()
        && status.last_failure_time.as_ref().is_none_or(|last| last.0 < time.0)
    {
        let words = last_words(observed, job).or_else(|| job::failure(job).map(str::to_owned));
        status.last_failure_message = words.map(|words| shortened(words.trim(), MAX_MESSAGE_BYTES));
        status.last_failure_time = Some(time);
    }
    Some(status)
}

/// Records a Job that succeeded at this time. One that found nothing to back up has made no backup, also once its pod
/// is deleted.
fn succeeded(status: &mut BackupStatus, outcome: Outcome, time: Time) {
    let at = Some(time);
    let is_newest = status.last_successful_time < at && status.last_empty_time < at;
    let result = match outcome {
        Outcome::Nothing(_) => {
            status.last_empty_time = status.last_empty_time.take().max(at);
            return;
        }
        Outcome::Backup(Some(result)) if status.last_successful_time <= at => Some(result),
        Outcome::Backup(None) | Outcome::Gone if is_newest => None,
        Outcome::Backup(_) | Outcome::Gone | Outcome::NotSeen => return,
    };
    status.bytes = result.as_ref().map(|result| result.bytes);
    status.name = result.map(|result| shortened(&result.name, 253));
    status.last_successful_time = at;
}

/// The condition `BackupSucceeded`.
pub(super) fn condition(
    engine: &RagEngine,
    observed: &ObservedBackups,
    status: &BackupStatus,
    now: &Time,
) -> (ConditionStatus, Finding) {
    if let Some(obstacle) = &observed.obstacle {
        return (ConditionStatus::False, obstacle.clone());
    }
    if let Some(failure) = failure(status) {
        return (ConditionStatus::False, failure);
    }
    let suspended = match &engine.spec.backup {
        Some(backup) if backup.suspend => ". Further backups are suspended, because backup.suspend is true",
        _ if engine.spec.replicas == 0 => ". Further backups are suspended, because replicas is 0",
        _ => "",
    };
    match (&status.last_successful_time, found_nothing(observed, status, now)) {
        // The engine had something before.
        (Some(_), Some(reason)) => {
            let message = format!("the last Job made no backup: {reason}. {}", last_good(status));
            (ConditionStatus::False, Finding::new(Reason::NoBackupYet, message))
        }
        (Some(_), None) => {
            let name =
                status.name.as_ref().map_or_else(|| "the last backup".to_owned(), |name| format!("the backup {name}"));
            (ConditionStatus::True, Finding::new(Reason::BackupCompleted, format!("{name} is complete{suspended}")))
        }
        (None, nothing) => {
            let why = nothing.map(|reason| format!(": {reason}")).unwrap_or_default();
            let message = format!("no backup has been made yet{why}{suspended}");
            (ConditionStatus::Unknown, Finding::new(Reason::NoBackupYet, message))
        }
    }
}

/// Why the last Job that succeeded made no backup, if so, in its own words until its pod is deleted.
fn found_nothing(observed: &ObservedBackups, status: &BackupStatus, now: &Time) -> Option<String> {
    let at = status.last_empty_time.as_ref().filter(|at| Some(*at) > status.last_successful_time.as_ref())?;
    let said = observed.ended(Stage::Complete).into_iter().filter(|(_, time)| time == at);
    let reason = said.rev().find_map(|(job, time)| match observed.outcome(job, &time, now.0) {
        Outcome::Nothing(NoBackup { reason }) => Some(unended(&reason).to_owned()),
        Outcome::Backup(_) | Outcome::Gone | Outcome::NotSeen => None,
    });
    Some(reason.unwrap_or_else(|| "it found no index".to_owned()))
}

/// Why the pod of a running backup cannot start.
pub(super) fn stuck(observed: &Observed) -> Option<Finding> {
    observed.backups.running().find_map(|(job, pod)| {
        let name = job.metadata.name.as_deref().unwrap_or_default();
        pod::obstacle(pod?, PodOf::Backup(name), &observed.warnings)
    })
}

/// The last backup, if it failed. A later Job that found no index has not failed.
pub(super) fn failure(status: &BackupStatus) -> Option<Finding> {
    let failed_at = status.last_failure_time.as_ref()?;
    let last_success = status.last_successful_time.as_ref().max(status.last_empty_time.as_ref());
    if last_success.is_some_and(|last| last >= failed_at) {
        return None;
    }
    let why = status.last_failure_message.as_deref().unwrap_or("Kubernetes gives no reason");
    let message = format!("the last backup failed: {}. {}", unended(why), last_good(status));
    Some(Finding::new(Reason::BackupFailed, message))
}

/// Which backup is the last good one, as a sentence.
fn last_good(status: &BackupStatus) -> String {
    match (&status.last_successful_time, &status.name) {
        (Some(time), Some(name)) => format!("The last good backup is {name}, of {}", time.0),
        (Some(time), None) => format!("The last good backup is of {}", time.0),
        (None, _) => "There is no good backup yet".to_owned(),
    }
}

/// What the container of the youngest pod of the Job wrote for its status: its result, or the end of its log.
fn last_words(observed: &ObservedBackups, job: &Job) -> Option<String> {
    backups::termination(pod::of_job(&observed.pods, job)?)?.message.clone()
}

//! The status of backups, from the Jobs and pods of the CronJob.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{BackupStatus, ConditionStatus, RagEngine, Reason};
use ragengine_settings::backup::{BackupResult, NoBackup};

use crate::finding::{Finding, shortened, unended};
use crate::job::{self, Stage};
use crate::names::CONTAINER;
use crate::pod::{self, PodOf};
use crate::rag_engine::backups::ObservedBackups;
use crate::rag_engine::observe::Observed;

/// The longest message of a failed backup, in bytes.
const MAX_MESSAGE_BYTES: usize = 600;

/// The status of backups. What Kubernetes no longer shows stays as it was in `previous`. `None` if the specification asks
/// for none.
pub(super) fn backup(
    engine: &RagEngine,
    observed: &ObservedBackups,
    previous: Option<&BackupStatus>,
) -> Option<BackupStatus> {
    engine.spec.backup.as_ref()?;
    let mut status = previous.cloned().unwrap_or_default();
    if let Some((job, time)) = newest(&observed.jobs, Stage::Complete) {
        let is_known = status.last_successful_time.as_ref() == Some(&time) && status.name.is_some();
        if !is_known && status.last_successful_time.as_ref().is_none_or(|last| last.0 <= time.0) {
            let words = last_words(observed, job);
            // A Job that found nothing to back up has made no backup.
            if words.as_deref().and_then(no_backup).is_none() {
                let result = words.and_then(|words| serde_json::from_str::<BackupResult>(&words).ok());
                status.bytes = result.as_ref().map(|result| result.bytes);
                status.name = result.map(|result| shortened(&result.name, 253));
                status.last_successful_time = Some(time);
            }
        }
    }
    if let Some((job, time)) = newest(&observed.jobs, Stage::Failed)
        && status.last_failure_time.as_ref().is_none_or(|last| last.0 < time.0)
    {
        let words = last_words(observed, job).or_else(|| job::failure(job).map(str::to_owned));
        status.last_failure_message = words.map(|words| shortened(words.trim(), MAX_MESSAGE_BYTES));
        status.last_failure_time = Some(time);
    }
    Some(status)
}

/// The condition `BackupSucceeded`.
pub(super) fn condition(
    engine: &RagEngine,
    observed: &ObservedBackups,
    status: &BackupStatus,
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
    let nothing = newest(&observed.jobs, Stage::Complete).and_then(|(job, _)| no_backup(&last_words(observed, job)?));
    match (&status.last_successful_time, nothing) {
        // The engine had something before.
        (Some(_), Some(NoBackup { reason })) => {
            let message = format!("the last Job made no backup: {}. {}", unended(&reason), last_good(status));
            (ConditionStatus::False, Finding::new(Reason::NoBackupYet, message))
        }
        (Some(_), None) => {
            let name =
                status.name.as_ref().map_or_else(|| "the last backup".to_owned(), |name| format!("the backup {name}"));
            (ConditionStatus::True, Finding::new(Reason::BackupCompleted, format!("{name} is complete{suspended}")))
        }
        (None, nothing) => {
            let why = nothing.map(|NoBackup { reason }| format!(": {}", unended(&reason))).unwrap_or_default();
            let message = format!("no backup has been made yet{why}{suspended}");
            (ConditionStatus::Unknown, Finding::new(Reason::NoBackupYet, message))
        }
    }
}

/// Why the pod of a running backup cannot start.
pub(super) fn stuck(observed: &Observed) -> Option<Finding> {
    observed.backups.running().find_map(|(job, pod)| {
        let name = job.metadata.name.as_deref().unwrap_or_default();
        pod::obstacle(pod?, PodOf::Backup(name), &observed.warnings)
    })
}

/// The last backup, if it failed.
pub(super) fn failure(status: &BackupStatus) -> Option<Finding> {
    let failed_at = status.last_failure_time.as_ref()?;
    if status.last_successful_time.as_ref().is_some_and(|last| last.0 >= failed_at.0) {
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

/// What a Job says that found nothing to back up.
fn no_backup(words: &str) -> Option<NoBackup> {
    serde_json::from_str(words).ok()
}

fn newest(jobs: &[Arc<Job>], stage: Stage) -> Option<(&Job, Time)> {
    let ended = jobs.iter().filter(|job| job::stage(job) == stage);
    ended.filter_map(|job| Some((job.as_ref(), job::finished_at(job)?))).max_by_key(|(_, time)| time.0)
}

/// What the container of the youngest pod of the Job wrote for its status: its result, or the end of its log.
fn last_words(observed: &ObservedBackups, job: &Job) -> Option<String> {
    let pod = pod::of_job(&observed.pods, job)?;
    let container = pod::statuses(pod).find(|status| status.name == CONTAINER)?;
    container.state.as_ref()?.terminated.as_ref()?.message.clone()
}

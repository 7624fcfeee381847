//! Reads the state of a Job.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::IndexStatus;

use crate::names::{AFTER, SPECIFICATION, SYNC_ID, WANTED};

/// The stage of a Job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The Job has not ended.
    Running,
    /// The Job has succeeded.
    Complete,
    /// The Job has failed.
    Failed,
}

/// The stage of a Job.
pub fn stage(job: &Job) -> Stage {
    match (condition(job, "Complete"), condition(job, "Failed")) {
        (Some(_), _) => Stage::Complete,
        (None, Some(_)) => Stage::Failed,
        (None, None) => Stage::Running,
    }
}

fn condition<'a>(job: &'a Job, type_: &str) -> Option<&'a JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_deref().unwrap_or_default();
    conditions.iter().find(|condition| condition.type_ == type_ && condition.status == "True")
}

/// Why the Job failed, according to Kubernetes.
pub fn failure(job: &Job) -> Option<&str> {
    let failed = condition(job, "Failed")?;
    failed.message.as_deref().or(failed.reason.as_deref())
}

/// When the Job was created.
pub fn started_at(job: &Job) -> Option<Time> {
    job.metadata.creation_timestamp.clone()
}

/// When the Job ended.
pub fn finished_at(job: &Job) -> Option<Time> {
    let status = job.status.as_ref()?;
    let failed = || condition(job, "Failed").and_then(|failed| failed.last_transition_time.clone());
    status.completion_time.clone().or_else(failed)
}

fn label<'a>(job: &'a Job, name: &str) -> &'a str {
    job.metadata.labels.as_ref().and_then(|labels| labels.get(name)).map_or("", String::as_str)
}

/// The id of its synchronisation.
pub fn sync_id(job: &Job) -> &str {
    label(job, SYNC_ID)
}

/// The hash of the desired revision when it was created (label `ragengine.dev/wanted`).
pub fn wanted(job: &Job) -> &str {
    label(job, WANTED)
}

/// The hash of the desired content when it was created (label `ragengine.dev/specification`).
pub fn specification(job: &Job) -> &str {
    label(job, SPECIFICATION)
}

/// An annotation that was copied from the Index when the Job was created.
pub fn annotation(job: &Job, name: &str) -> Option<String> {
    job.metadata.annotations.as_ref()?.get(name).cloned()
}

/// The youngest Job.
pub fn youngest(jobs: &[Arc<Job>]) -> Option<&Job> {
    jobs.iter().max_by_key(|job| (&job.metadata.creation_timestamp, &job.metadata.name)).map(Arc::as_ref)
}

/// The current Job: the one that was created after the last synchronisation in the status. The creation time does not
/// decide, because two Jobs may be created in the same second.
pub fn current<'a>(jobs: &'a [Arc<Job>], status: &IndexStatus) -> Option<&'a Job> {
    let last = status.last_sync.as_ref().map_or("", |last| last.id.as_str());
    let next = jobs.iter().filter(|job| label(job, AFTER) == last && job.metadata.deletion_timestamp.is_none());
    next.max_by_key(|job| (stage(job) == Stage::Running, &job.metadata.creation_timestamp, &job.metadata.name))
        .map(Arc::as_ref)
}

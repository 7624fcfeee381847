//! What a Job says of itself.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::IndexStatus;

use crate::names::{AFTER, SPECIFICATION, SYNC_ID, WANTED};

/// How far a Job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It has not ended.
    Running,
    /// It has done its work.
    Complete,
    /// It has not.
    Failed,
}

/// How far a Job is.
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

/// Why it failed, in Kubernetes' own words.
pub fn failure(job: &Job) -> Option<&str> {
    let failed = condition(job, "Failed")?;
    failed.message.as_deref().or(failed.reason.as_deref())
}

/// When it was made.
pub fn started_at(job: &Job) -> Option<Time> {
    job.metadata.creation_timestamp.clone()
}

/// When it ended.
pub fn finished_at(job: &Job) -> Option<Time> {
    let status = job.status.as_ref()?;
    let failed = || condition(job, "Failed").and_then(|failed| failed.last_transition_time.clone());
    status.completion_time.clone().or_else(failed)
}

fn label<'a>(job: &'a Job, name: &str) -> &'a str {
    job.metadata.labels.as_ref().and_then(|labels| labels.get(name)).map_or("", String::as_str)
}

/// The name of the synchronisation that it does.
pub fn sync_id(job: &Job) -> &str {
    label(job, SYNC_ID)
}

/// What was wanted when it was made.
pub fn wanted(job: &Job) -> &str {
    label(job, WANTED)
}

/// The same without the schedule.
pub fn specification(job: &Job) -> &str {
    label(job, SPECIFICATION)
}

/// An annotation of the Index that it was made for.
pub fn annotation(job: &Job, name: &str) -> Option<String> {
    job.metadata.annotations.as_ref()?.get(name).cloned()
}

/// The Job that was made last.
pub fn youngest(jobs: &[Arc<Job>]) -> Option<&Job> {
    jobs.iter().max_by_key(|job| (&job.metadata.creation_timestamp, &job.metadata.name)).map(Arc::as_ref)
}

/// The Job that counts: the one that was made after the last whose result is in the status. No clock is asked for it: two Jobs may be made in one
/// second.
pub fn current<'a>(jobs: &'a [Arc<Job>], status: &IndexStatus) -> Option<&'a Job> {
    let last = status.last_sync.as_ref().map_or("", |last| last.id.as_str());
    let next = jobs.iter().filter(|job| label(job, AFTER) == last && job.metadata.deletion_timestamp.is_none());
    next.max_by_key(|job| (stage(job) == Stage::Running, &job.metadata.creation_timestamp, &job.metadata.name))
        .map(Arc::as_ref)
}

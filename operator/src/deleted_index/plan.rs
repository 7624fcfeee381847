//! Plans which deletion of documents starts next. Pure functions.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use ragengine_client::wire::OwnedSources;
use ragengine_operator_api::Reason;

use crate::finding::{Finding, shortened};
use crate::hash::hash;
use crate::job::{self, Stage};
use crate::names::OWNER;
use crate::times::retry_at;

/// The maximum length of a Job's message in the status, in characters.
const MAX_WORDS: usize = 300;

/// The interval at which unwatched state is checked.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A deleted Index that the server still has documents of.
#[derive(Debug, Clone)]
pub(super) struct DeletedIndex {
    pub owner: OwnedSources,
    /// How long to wait before its documents are deleted.
    pub wait: Duration,
}

/// The observed Jobs and writers.
pub(super) struct Seen<'a> {
    /// The Jobs that delete documents from this engine.
    pub jobs: &'a [Arc<Job>],
    /// Whether a Job may still write or delete documents of an Index of this name.
    pub is_written: &'a dyn Fn(&str) -> bool,
    pub now: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    pub step: Step,
    pub failure: Option<Finding>,
    pub look_again: Option<Duration>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Step {
    #[default]
    Wait,
    Start {
        owner: OwnedSources,
        job_name: String,
        sync_id: String,
    },
}

/// Starts the first deletion that is due, unless one is running.
pub(super) fn plan(gone: &[DeletedIndex], seen: &Seen<'_>) -> Plan {
    let mut plan = Plan::default();
    if seen.jobs.iter().any(|job| job::stage(job) == Stage::Running) {
        return plan;
    }
    for gone in gone {
        let attempts = Attempts::of(&gone.owner, seen.jobs);
        plan.failure = plan.failure.take().or_else(|| attempts.failure(&gone.owner));
        let wait = attempts.wait(seen.now).max(gone.wait);
        let wait = if wait.is_zero() && (seen.is_written)(&gone.owner.name) { LOOK_AGAIN } else { wait };
        if wait.is_zero() {
            plan.step = start(&gone.owner, attempts.ended.len());
            return plan;
        }
        plan.look_again = Some(plan.look_again.map_or(wait, |before| before.min(wait)));
    }
    plan
}

/// The Jobs that have tried to delete the documents of one Index.
struct Attempts<'a> {
    ended: Vec<&'a Job>,
}

impl<'a> Attempts<'a> {
    fn of(owner: &OwnedSources, jobs: &'a [Arc<Job>]) -> Self {
        let is_of_owner = |job: &&Arc<Job>| {
            job.metadata.labels.as_ref().and_then(|labels| labels.get(OWNER)).is_some_and(|uid| *uid == owner.uid)
        };
        let mut ended: Vec<&Job> = jobs.iter().filter(is_of_owner).map(Arc::as_ref).collect();
        ended.sort_by_key(|job| job::finished_at(job));
        Self { ended }
    }

    /// How long to wait before the next attempt. The server's status is read every 15 seconds, so it may still list an
    /// owner whose documents were just deleted.
    fn wait(&self, now: Timestamp) -> Duration {
        let last = self.ended.last().and_then(|job| job::finished_at(job));
        let attempts = u32::try_from(self.ended.len()).unwrap_or(u32::MAX);
        let at = last.and_then(|last| retry_at(last.0, attempts));
        at.map_or(Duration::ZERO, |at| Duration::try_from(at.duration_since(now)).unwrap_or_default())
    }

    fn failure(&self, owner: &OwnedSources) -> Option<Finding> {
        let last = self.ended.last().filter(|job| job::stage(job) == Stage::Failed)?;
        let (why, name) = (job::failure(last).unwrap_or("no reason is known"), last.metadata.name.as_deref());
        Some(Finding::new(
            Reason::DeletionFailed,
            format!(
                "the documents of the deleted Index {} could not be removed from the index {}: {}. \
                 See the log of Job {}. The operator tries again",
                owner.name,
                owner.index,
                shortened(why, MAX_WORDS),
                name.unwrap_or_default()
            ),
        ))
    }
}

/// Each attempt has a different name.
fn start(owner: &OwnedSources, attempts: usize) -> Step {
    let sync_id = hash(&("deletion", owner, attempts));
    Step::Start { job_name: format!("{}-gone-{}", owner.name, &sync_id[..7]), sync_id, owner: owner.clone() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn now() -> Timestamp {
        "2026-11-22T09:00:00Z".parse().unwrap()
    }

    fn gone(name: &str, wait_s: u64) -> DeletedIndex {
        let owner =
            OwnedSources { index: "i".into(), name: name.into(), uid: format!("uid-{name}"), scope: "v".into() };
        DeletedIndex { owner, wait: Duration::from_secs(wait_s) }
    }

    fn job(name: &str, ended: Option<(&str, &str)>) -> Arc<Job> {
        let conditions: Vec<Value> = ended
            .iter()
            .map(|(type_, at)| json!({"type": type_, "status": "True", "lastTransitionTime": at, "message": "why"}))
            .collect();
        let labels = json!({OWNER: format!("uid-{name}")});
        let completed = ended.filter(|(type_, _)| *type_ == "Complete").map(|(_, at)| at);
        let job = json!({
            "metadata": {"name": format!("{name}-gone-1"), "labels": labels},
            "status": {"conditions": conditions, "completionTime": completed},
        });
        Arc::new(serde_json::from_value(job).unwrap())
    }

    fn planned(gone: &[DeletedIndex], jobs: &[Arc<Job>], written: &str) -> (Option<String>, Option<u64>, bool) {
        let plan = plan(gone, &Seen { jobs, is_written: &|index| index == written, now: now() });
        let started = match plan.step {
            Step::Wait => None,
            Step::Start { owner, .. } => Some(owner.name),
        };
        (started, plan.look_again.map(|wait| wait.as_secs()), plan.failure.is_some())
    }

    #[test]
    fn one_deletion_runs_at_a_time_without_writers_and_with_a_back_off() {
        let (a, b) = (|| gone("a", 0), || gone("b", 0));
        let failed = |name, at| job(name, Some(("Failed", at)));
        for (what, gone, jobs, written, expected) in [
            ("no Index was deleted", vec![], vec![], "", (None, None, false)),
            ("one Index was deleted", vec![a()], vec![], "", (Some("a"), None, false)),
            ("two Indexes were deleted", vec![a(), b()], vec![], "", (Some("a"), None, false)),
            ("one is in its grace period", vec![gone("a", 40), b()], vec![], "", (Some("b"), Some(40), false)),
            ("a Job still writes", vec![a()], vec![], "a", (None, Some(5), false)),
            ("a deletion runs", vec![a(), b()], vec![job("b", None)], "", (None, None, false)),
            ("it failed just now", vec![a()], vec![failed("a", "2026-11-22T08:59:50Z")], "", (None, Some(20), true)),
            (
                "it failed a while ago",
                vec![a()],
                vec![failed("a", "2026-11-22T08:59:20Z")],
                "",
                (Some("a"), None, true),
            ),
            (
                "it failed twice",
                vec![a()],
                vec![failed("a", "2026-11-22T08:58:00Z"), failed("a", "2026-11-22T08:59:20Z")],
                "",
                (None, Some(20), true),
            ),
            (
                "the server still lists an owner whose documents were deleted",
                vec![a()],
                vec![job("a", Some(("Complete", "2026-11-22T08:59:55Z")))],
                "",
                (None, Some(25), false),
            ),
        ] {
            let expected = (expected.0.map(str::to_owned), expected.1, expected.2);
            assert_eq!(planned(&gone, &jobs, written), expected, "{what}");
        }
    }

    #[test]
    fn each_attempt_has_a_different_name() {
        let owner = gone("a", 0).owner;
        assert_eq!(start(&owner, 0), start(&owner, 0));
        assert_ne!(start(&owner, 0), start(&owner, 1));
    }
}

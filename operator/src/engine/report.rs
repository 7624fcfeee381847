//! The report about a server. Pure functions.

use ragengine_client::wire::{EngineStatus, GrowingGeneration};

use crate::finding::shortened;

/// The maximum number of owners and generations of a status, the maximum number of problems, and the maximum length of
/// a problem's text in bytes.
const MAX_KEPT: usize = 1000;
const MAX_PROBLEMS: usize = 50;
const MAX_WORDS: usize = 500;
/// The number of consecutive failures after which a server counts as unreachable.
const TOLERATED_FAILURES: u32 = 3;

/// The last status of a server, and the failures since then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The uid of the server's pod.
    pub pod_uid: String,
    /// The last status that it sent.
    pub answer: Option<EngineStatus>,
    /// Why the last request failed, if it did.
    pub error: Option<String>,
    /// The number of consecutive failures.
    pub failures: u32,
}

impl Report {
    /// Whether the server counts as unreachable.
    pub fn is_unreachable(&self) -> bool {
        self.failures >= TOLERATED_FAILURES
    }
}

/// Limits the size of a status, because a custom server image can send anything.
pub(super) fn bounded(mut answer: EngineStatus) -> EngineStatus {
    answer.owners.truncate(MAX_KEPT);
    answer.generations.truncate(MAX_KEPT);
    answer.problems.truncate(MAX_PROBLEMS);
    answer.owners.shrink_to_fit();
    answer.generations.shrink_to_fit();
    answer.problems.iter_mut().for_each(|problem| problem.detail = shortened(&problem.detail, MAX_WORDS));
    answer
}

/// The next report. After a failure the previous status is kept, because it is better than none.
pub(super) fn next(before: Option<&Report>, pod_uid: String, answer: Result<EngineStatus, String>) -> Report {
    match answer {
        Ok(answer) => Report { pod_uid, answer: Some(answer), error: None, failures: 0 },
        Err(error) => Report {
            pod_uid,
            answer: before.and_then(|before| before.answer.clone()),
            error: Some(error),
            failures: before.map_or(0, |before| before.failures).saturating_add(1),
        },
    }
}

/// The part of a report that Indexes depend on: whether the server accepts documents, and the rebuilds that are in
/// progress.
pub(super) fn for_indexes(report: Option<&Report>) -> (bool, &[GrowingGeneration]) {
    let answer = report.filter(|report| !report.is_unreachable()).and_then(|report| report.answer.as_ref());
    answer.map_or((false, &[]), |answer| (answer.ready, answer.generations.as_slice()))
}

/// Whether a new report changes the status of a resource.
pub(super) fn is_news(before: &Report, after: &Report) -> bool {
    before.answer != after.answer || before.is_unreachable() != after.is_unreachable()
}

//! What a server said: pure.

use ragengine_client::wire::{EngineStatus, GrowingGeneration};

use crate::finding::shortened;

/// The most owners and generations of an answer that are kept, the most problems, and the longest of their words, in characters.
const MAX_KEPT: usize = 1000;
const MAX_PROBLEMS: usize = 50;
const MAX_WORDS: usize = 500;
/// After so many failures in a row a server counts as one that cannot be asked.
const TOLERATED_FAILURES: u32 = 3;

/// What a server said when it was asked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The pod that it ran in.
    pub pod_uid: String,
    /// Its last answer.
    pub answer: Option<EngineStatus>,
    /// Why the last question got none.
    pub error: Option<String>,
    /// How many questions in a row got none.
    pub failures: u32,
}

impl Report {
    /// Whether the server counts as one that cannot be asked.
    pub fn is_unreachable(&self) -> bool {
        self.failures >= TOLERATED_FAILURES
    }
}

/// As much of an answer as is kept: whoever makes the server's image chooses what it says.
pub(super) fn bounded(mut answer: EngineStatus) -> EngineStatus {
    answer.owners.truncate(MAX_KEPT);
    answer.generations.truncate(MAX_KEPT);
    answer.problems.truncate(MAX_PROBLEMS);
    answer.owners.shrink_to_fit();
    answer.generations.shrink_to_fit();
    answer.problems.iter_mut().for_each(|problem| problem.detail = shortened(&problem.detail, MAX_WORDS));
    answer
}

/// An answer that is old is kept: it says more than none.
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

/// What the Indexes of an engine look at: whether its server takes documents, and the indexes that are being built anew.
pub(super) fn for_indexes(report: Option<&Report>) -> (bool, &[GrowingGeneration]) {
    let answer = report.filter(|report| !report.is_unreachable()).and_then(|report| report.answer.as_ref());
    answer.map_or((false, &[]), |answer| (answer.ready, answer.generations.as_slice()))
}

/// Whether a status would say something else.
pub(super) fn is_news(before: &Report, after: &Report) -> bool {
    before.answer != after.answer || before.is_unreachable() != after.is_unreachable()
}

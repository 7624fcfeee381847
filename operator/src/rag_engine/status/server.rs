use ragengine_client::wire::{Problem, ProblemKind};
use ragengine_operator_api::Reason;

use crate::finding::Finding;
use crate::rag_engine::observe::Observed;

/// The maximum length of a text from the server, in characters.
const MAX_WORDS: usize = 200;

/// The problem that the server reports.
pub(super) fn problem(observed: &Observed) -> Option<Finding> {
    observed.answer()?.problems.iter().find_map(finding)
}

fn finding(problem: &Problem) -> Option<Finding> {
    let detail = &quoted(&problem.detail);
    let (reason, message) = match problem.kind {
        ProblemKind::LoadingIndexes | ProblemKind::LoadingModel | ProblemKind::Other => return None,
        ProblemKind::IndexesFailed => (Reason::IndexesFailed, format!("the indexes cannot be used: {detail}")),
        ProblemKind::IndexUnavailable => {
            (Reason::IndexesFailed, format!("one index cannot be used, the others are served: {detail}"))
        }
        ProblemKind::VolumeFull => (
            Reason::VolumeFull,
            format!("the volume is full: raise storage.persistentVolume.size, or delete documents ({detail})"),
        ),
        ProblemKind::VolumeFailed => (Reason::VolumeFailed, format!("the volume cannot be written to: {detail}")),
        ProblemKind::EmbeddingModelFailed => {
            (Reason::EmbeddingModelFailed, format!("the embedding model cannot be used: {detail}"))
        }
        ProblemKind::EmbeddingServiceFailed => {
            (Reason::EmbeddingServiceFailed, format!("the embedding endpoint cannot be used: {detail}"))
        }
        ProblemKind::InferenceServiceFailed => (
            Reason::InferenceServiceFailed,
            format!("the language model cannot be used, retrieval still works: {detail}"),
        ),
    };
    Some(Finding::new(reason, message))
}

/// Shortens a text from the server to one line, because a custom image can send any text.
fn quoted(words: &str) -> String {
    words.chars().map(|character| if character.is_control() { ' ' } else { character }).take(MAX_WORDS).collect()
}

/// The finding that the operator cannot reach a running server. Other clients may still reach it.
pub(super) fn unreachable(observed: &Observed) -> Option<Finding> {
    let report = observed.current_report()?;
    let reason = report.error.as_ref().filter(|_| report.is_unreachable())?;
    Some(Finding::new(
        Reason::ServerUnreachable,
        format!(
            "the operator cannot reach the server ({reason}), so the reported indexes may be out of date: \
             check that NetworkPolicies allow traffic from the operator to the server"
        ),
    ))
}

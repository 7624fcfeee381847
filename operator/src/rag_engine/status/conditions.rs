use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};

use super::Findings;
use crate::finding::{Conditions, Finding};
use crate::rag_engine::hold::Hold;

/// Ready, Progressing and Degraded, in this order.
pub(super) fn conditions(findings: &Findings, common: Conditions<'_>) -> Vec<Condition> {
    vec![
        common.condition(ConditionType::Ready, ready(findings)),
        common.condition(ConditionType::Progressing, progressing(findings)),
        common.condition(ConditionType::Degraded, degraded(findings)),
    ]
}

fn ready(findings: &Findings) -> (ConditionStatus, Finding) {
    match (&findings.problem, &findings.waiting) {
        (Some(problem), _) => (ConditionStatus::False, problem.clone()),
        (None, Some(waiting)) => (ConditionStatus::False, waiting.clone()),
        (None, None) => (ConditionStatus::True, findings.as_asked.clone()),
    }
}

fn progressing(findings: &Findings) -> (ConditionStatus, Finding) {
    match (findings.hold, &findings.problem, &findings.waiting) {
        (Some(hold @ Hold::Paused), ..) => (ConditionStatus::False, hold.finding()),
        (_, None, Some(waiting)) => (ConditionStatus::True, waiting.clone()),
        // The engine serves its current version until its turn comes.
        (Some(hold @ Hold::Queued { .. }), ..) => (ConditionStatus::True, hold.finding()),
        _ => (ConditionStatus::False, Finding::new(Reason::AsExpected, "no change is in progress")),
    }
}

fn degraded(findings: &Findings) -> (ConditionStatus, Finding) {
    match findings.problem.as_ref().or(findings.hint.as_ref()) {
        Some(problem) => (ConditionStatus::True, problem.clone()),
        None => (ConditionStatus::False, Finding::new(Reason::AsExpected, "no problem is known")),
    }
}

use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};

use super::Findings;
use super::step::{Before, Clients};
use crate::finding::{Conditions, Finding};
use crate::rag_engine::hold::Hold;

/// Ready, Progressing and Degraded, in this order.
pub(super) fn conditions(findings: &Findings, common: Conditions<'_>) -> Vec<Condition> {
    let before = Before::of(common);
    vec![
        common.condition(ConditionType::Ready, ready(findings, &before)),
        common.condition(ConditionType::Progressing, progressing(findings, &before)),
        common.condition(ConditionType::Degraded, degraded(findings)),
    ]
}

/// An engine that serves is Ready while a change is in progress.
fn ready(findings: &Findings, before: &Before) -> (ConditionStatus, Finding) {
    let unserved = findings.waiting.as_ref().filter(|step| match step.clients {
        Clients::NotServed => true,
        Clients::Served => false,
        Clients::AsBefore => !before.was_ready,
    });
    match findings.problem.as_ref().or(unserved.map(|step| &step.finding)) {
        Some(finding) => (ConditionStatus::False, finding.clone()),
        None => (ConditionStatus::True, findings.as_asked.clone()),
    }
}

fn progressing(findings: &Findings, before: &Before) -> (ConditionStatus, Finding) {
    let was_done = before.was_ready && !before.was_progressing;
    let step = findings.waiting.as_ref().filter(|step| step.clients != Clients::AsBefore || !was_done);
    match (findings.hold, &findings.problem, step) {
        (Some(hold @ Hold::Paused), ..) => (ConditionStatus::False, hold.finding()),
        (_, None, Some(step)) => (ConditionStatus::True, step.finding.clone()),
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

use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};

use super::Outcome;
use crate::finding::{Conditions, Finding};
use crate::rag_engine::hold::Hold;

/// The three conditions, in their order.
pub(super) fn conditions(outcome: &Outcome, common: Conditions<'_>) -> Vec<Condition> {
    vec![
        common.condition(ConditionType::Ready, ready(outcome)),
        common.condition(ConditionType::Progressing, progressing(outcome)),
        common.condition(ConditionType::Degraded, degraded(outcome)),
    ]
}

fn ready(outcome: &Outcome) -> (ConditionStatus, Finding) {
    match (&outcome.problem, &outcome.waiting, outcome.is_stopped) {
        (Some(problem), ..) => (ConditionStatus::False, problem.clone()),
        (None, Some(waiting), _) => (ConditionStatus::False, waiting.clone()),
        // It is as it was asked to be.
        (None, None, true) => (
            ConditionStatus::True,
            Finding::new(Reason::Stopped, "replicas is 0: write replicas: 1 to start it; its volume is kept"),
        ),
        (None, None, false) => (ConditionStatus::True, Finding::new(Reason::Serving, outcome.serving.clone())),
    }
}

fn progressing(outcome: &Outcome) -> (ConditionStatus, Finding) {
    match (outcome.hold, &outcome.problem, &outcome.waiting) {
        (Some(hold @ Hold::Paused), ..) => (ConditionStatus::False, hold.finding()),
        (_, None, Some(waiting)) => (ConditionStatus::True, waiting.clone()),
        // It serves as it is until its turn comes.
        (Some(hold @ Hold::Queued { .. }), ..) => (ConditionStatus::True, hold.finding()),
        _ => (ConditionStatus::False, Finding::new(Reason::AsExpected, "nothing is going on")),
    }
}

fn degraded(outcome: &Outcome) -> (ConditionStatus, Finding) {
    match outcome.problem.as_ref().or(outcome.hint.as_ref()) {
        Some(problem) => (ConditionStatus::True, problem.clone()),
        None => (ConditionStatus::False, Finding::new(Reason::AsExpected, "nothing is wrong")),
    }
}

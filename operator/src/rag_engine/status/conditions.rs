use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use ragengine_operator_api::{Condition, ConditionStatus, ConditionType, Reason};

use super::{Finding, Outcome};
use crate::rag_engine::hold::Hold;

/// The three conditions, in their order. A condition whose status did not change keeps the time of its last change.
pub(super) fn conditions(
    outcome: &Outcome,
    previous: &[Condition],
    observed_generation: Option<i64>,
    now: &Time,
) -> Vec<Condition> {
    let condition = |type_, (status, finding): (ConditionStatus, Finding)| {
        let before = previous.iter().find(|condition| condition.type_ == type_ && condition.status == status);
        Condition {
            type_,
            status,
            reason: finding.reason,
            message: finding.message,
            last_transition_time: before.map_or_else(|| now.clone(), |before| before.last_transition_time.clone()),
            observed_generation,
        }
    };
    vec![
        condition(ConditionType::Ready, ready(outcome)),
        condition(ConditionType::Progressing, progressing(outcome)),
        condition(ConditionType::Degraded, degraded(outcome)),
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

//! When an Index is reconciled again without an event.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::SignedDuration;
use ragengine_operator::index::plan::Step;
use ragengine_operator_api::SyncResult;

use super::cases::{Case, cases};
use super::fixture::nine;

/// The seconds from nine o'clock until the Index is reconciled again.
fn look_again(case: &Case) -> Option<i64> {
    case.reconciled().0.look_again.map(|at| at.duration_since(nine()).as_secs())
}

#[test]
fn an_index_is_looked_at_again_where_no_event_tells_that_it_can_go_on() {
    let cases = cases();
    for (name, seconds) in [
        ("a new Index", None),
        ("a new Job", Some(5)),
        ("a running Job", None),
        ("a Job whose image cannot be pulled", None),
        ("a synchronised Index", None),
        ("a recent failure", Some(25)),
        ("an engine that starts", None),
        ("the limit of running Jobs is reached", Some(5)),
        ("documents of a deleted Index of the same name remain", Some(5)),
        ("the NetworkPolicy of its Jobs does not exist", Some(5)),
    ] {
        let (_, case) = cases.iter().find(|(found, _)| *found == name).unwrap();
        assert_eq!(look_again(case), seconds, "{name}");
    }
}

#[test]
fn a_schedule_is_followed_whatever_the_index_waits_for() {
    let scheduled = || Case::new("schedule: '0 * * * *'");
    let turn = look_again(&scheduled().last(SyncResult::Succeeded, None));
    assert!(turn.is_some_and(|seconds| (25..4000).contains(&seconds)), "{turn:?}");
    let mut suspended = scheduled();
    suspended.index.spec.suspend = true;
    let mut without_engine = scheduled();
    without_engine.observed.engine = None;
    assert_eq!([look_again(&suspended), look_again(&without_engine)], [turn, turn]);
    assert_eq!(
        look_again(&scheduled().last(SyncResult::Failed, None)),
        Some(25),
        "the next attempt is before the turn"
    );
}

#[test]
fn the_next_attempt_starts_when_the_wait_is_over() {
    for (waited, starts) in [(29, false), (30, true), (31, true)] {
        let mut case = Case::new("{}").last(SyncResult::Failed, None);
        let finished_at = nine().checked_sub(SignedDuration::from_secs(waited)).unwrap();
        case.status.last_sync.as_mut().unwrap().finished_at = Time(finished_at);
        assert_eq!(matches!(case.reconciled().0.step, Step::Start(_)), starts, "{waited}");
    }
}

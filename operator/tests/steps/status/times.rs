//! The parts of a status that depend on the previous status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{Condition, RagEngineStatus};

use super::{Case, cases};

pub(super) fn second(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

fn case(wanted: &str) -> Case {
    cases::cases().into_iter().find(|(name, _)| *name == wanted).unwrap_or_else(|| panic!("no case {wanted}")).1
}

fn times(status: &RagEngineStatus) -> Vec<i64> {
    let second = |condition: &Condition| condition.last_transition_time.0.as_second();
    status.conditions.iter().map(second).collect()
}

/// A new reason or message alone does not change the time.
#[test]
fn a_transition_time_changes_only_with_the_condition_status() {
    let mut status = RagEngineStatus::default();
    let mut moved = Vec::new();
    for (now, name) in [
        (1, "no object has been created"),
        (2, "the server loads its indexes"),
        (3, "ready"),
        (4, "ready"),
        (5, "several failed requests to the server"),
        (6, "the volume is full"),
        (7, "the server crashes repeatedly"),
        (8, "ready"),
    ] {
        status = case(name).status(&status, now);
        moved.push((name, times(&status)));
    }
    assert_eq!(
        moved,
        [
            // The times of Ready, Progressing and Degraded.
            ("no object has been created", vec![1, 1, 1]),
            ("the server loads its indexes", vec![1, 1, 1]),
            ("ready", vec![3, 3, 1]),
            ("ready", vec![3, 3, 1]),
            ("several failed requests to the server", vec![3, 3, 5]),
            ("the volume is full", vec![6, 3, 5]),
            ("the server crashes repeatedly", vec![6, 3, 5]),
            ("ready", vec![8, 3, 8]),
        ]
    );
}

#[test]
fn an_unchanged_case_gives_the_same_status() {
    for (name, case) in cases::cases() {
        let first = case.status(&RagEngineStatus::default(), 1);
        assert_eq!(case.status(&first, 2), first, "{name}");
    }
}

#[test]
fn observed_generation_is_the_generation_of_the_spec() {
    let mut case = case("ready");
    case.engine.metadata.generation = Some(7);
    let status = case.status(&RagEngineStatus::default(), 0);
    assert_eq!(status.observed_generation, Some(7));
    assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(7)));
}

#[test]
fn counts_are_kept_while_the_server_does_not_report() {
    let well = case("ready").status(&RagEngineStatus::default(), 0);
    let counts = |status: &RagEngineStatus| (status.indexes, status.documents, status.data_id.clone());
    assert_eq!(counts(&well), (Some(2), Some(30), Some("data".to_owned())));
    for name in [
        "several failed requests to the server",
        "the server loads its indexes",
        "the server crashes repeatedly",
        "stopped",
        "no object has been created",
    ] {
        assert_eq!(counts(&case(name).status(&well, 1)), counts(&well), "{name}");
    }
    let never = case("the server loads its indexes").status(&RagEngineStatus::default(), 0);
    assert_eq!(counts(&never), (None, None, None), "the counts are unknown until everything is loaded");
}

#[test]
fn the_endpoint_and_the_pods_are_reported() {
    let well = case("ready").status(&RagEngineStatus::default(), 0);
    assert_eq!(well.endpoint.as_deref(), Some("http://docs.tests.svc.cluster.local/v1"));
    assert_eq!(well.replicas, 1);
    assert_eq!(
        well.selector.as_deref(),
        Some("app.kubernetes.io/instance=docs,app.kubernetes.io/name=ragengine"),
        "the selector finds the pods"
    );
    let none = case("no object has been created").status(&well, 0);
    assert_eq!((none.endpoint, none.replicas), (None, 0));
}

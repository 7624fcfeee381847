//! The parts of a status that depend on the previous status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use ragengine_operator_api::{Condition, ConditionStatus, RagEngineStatus};

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

/// Ready and Progressing.
fn ready_and_progressing(status: &RagEngineStatus) -> [bool; 2] {
    [0, 1].map(|place| status.conditions[place].status == ConditionStatus::True)
}

/// After a restart the operator has no report of any server, and a change of a Service says nothing about the pods.
#[test]
fn a_ready_engine_stays_so_while_the_operator_knows_nothing_new() {
    for ready in ["ready", "several pods are ready"] {
        let well = case(ready).status(&RagEngineStatus::default(), 0);
        let [mut no_report, mut stale, mut both] = [case(ready), case(ready), case(ready)];
        no_report.observed.report = None;
        stale.is_current = false;
        (both.observed.report, both.is_current) = (None, false);
        let same_pods = [("no report", no_report), ("a stale cache", stale), ("both", both)];
        for (what, mut same) in same_pods {
            let is_lag_of_rolling = ready != "ready" && what == "a stale cache";
            assert_eq!(ready_and_progressing(&same.status(&well, 1)), [true, is_lag_of_rolling], "{ready}, {what}");
            let unready = case("the volume is full").status(&well, 1);
            assert_eq!(ready_and_progressing(&same.status(&unready, 2))[0], is_lag_of_rolling, "{ready}, {what}");
            same.engine.metadata.generation = Some(2);
            let changed = same.status(&well, 1);
            assert_eq!(
                ready_and_progressing(&changed),
                [is_lag_of_rolling, true],
                "{ready}, {what}: another generation"
            );
        }
    }
}

/// A pod that runs has a node, also before its server has reported.
#[test]
fn a_ready_engine_stays_so_beside_a_node_claim_that_fails() {
    let mut beside = case("ready, on a node whose replacement cannot be launched");
    beside.observed.nodes.replaced.clear();
    beside.observed.report = None;
    let well = case("ready").status(&RagEngineStatus::default(), 0);
    let status = beside.status(&well, 1);
    assert_eq!(ready_and_progressing(&status), [true, false]);
    assert_eq!(status.conditions[2].status, ConditionStatus::True, "it is degraded");
}

/// The last pod of a rollout is asked a moment after it serves. Until then the rollout is not finished.
#[test]
fn a_rolling_update_ends_with_the_report_of_a_new_pod() {
    let mut status = case("several pods are ready").status(&RagEngineStatus::default(), 0);
    let mut seen = Vec::new();
    for name in [
        "Kubernetes has not begun to replace several pods",
        "several pods are replaced one after the other",
        "the first pod of a new version crashes beside those that serve",
        "several pods are ready, and none has reported yet",
        "several pods are ready",
    ] {
        status = case(name).status(&status, 1);
        seen.push(ready_and_progressing(&status));
    }
    assert_eq!(seen, [[true, true], [true, true], [true, true], [true, true], [true, false]]);
}

/// The pod stops before the next one starts, or nothing serves yet.
#[test]
fn an_engine_that_does_not_serve_is_not_ready_whatever_it_was_before() {
    let well = case("ready").status(&RagEngineStatus::default(), 0);
    for name in [
        "a Deployment whose status is of an older generation",
        "the old pod still runs",
        "no pod yet",
        "the server starts",
        "no object has been created",
        "several pods are replaced, and too few serve",
        "stopping, with a running pod",
        "several pods are stopping",
    ] {
        assert_eq!(ready_and_progressing(&case(name).status(&well, 1)), [false, true], "{name}");
    }
}

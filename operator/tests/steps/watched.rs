//! Watches that break, expire or lag: no change is missed, and nothing is done twice.

use std::time::Duration;

use ragengine_operator_api::{ConditionType, Reason};
use serde_json::json;

use crate::api_server::{ApiServer, Fault, pass};
use crate::controller::{A_WHILE, Controller, condition, manifest, object_writes, server_with, until};
use crate::fixture::engine;

const SPEC: &str = "{replicas: 0, networkPolicy: {}, storage: {persistentVolume: {size: 1Gi}}}";

fn is_stopped(server: &ApiServer) -> bool {
    condition(server, "docs", ConditionType::Ready).is_some_and(|ready| ready.reason == Reason::Stopped)
}

/// A broken or expired watch is restarted, and changes made in between are noticed.
#[tokio::test(start_paused = true)]
async fn no_change_is_missed_when_a_watch_breaks_or_expires() {
    for (resource, name) in [
        ("configmaps", "docs-settings"),
        ("serviceaccounts", "docs"),
        ("secrets", "docs-write"),
        ("persistentvolumeclaims", "docs-data"),
        ("networkpolicies", "docs"),
        ("services", "docs"),
        ("deployments", "docs"),
    ] {
        let server = server_with(&engine(SPEC));
        let controller = Controller::start(&server);
        until("Stopped", &server, || is_stopped(&server)).await;
        pass(A_WHILE).await;
        let watches = server.watches(resource);
        drop(server.calls());

        // The watch breaks, and its first restarts fail.
        server.fail("watch", resource, 2, Fault::Refusal(500, "not now"));
        server.break_watches(resource);
        server.delete(resource, name);
        pass(A_WHILE).await;
        assert!(server.get(resource, name).is_some(), "{resource}: deleted while the watch was broken");
        assert_eq!(server.watches(resource), watches, "{resource}");

        server.expire_watches(resource, |server| server.delete(resource, name));
        pass(A_WHILE).await;
        assert!(server.get(resource, name).is_some(), "{resource}: deleted while the watch was expired");
        assert_eq!(server.watches(resource), watches, "{resource}");
        assert_eq!(object_writes(&server).len(), 2, "{resource}: nothing else is written");
        controller.stop().await;
    }
}

/// A cache shows a write a little later. Until then, nothing is written twice and the engine is not reported as done.
#[tokio::test(start_paused = true)]
async fn the_operator_waits_for_a_lagging_cache() {
    for resource in ["deployments", "configmaps", "secrets"] {
        let server = server_with(&engine("{replicas: 0, auth: {writes: open}}"));
        let controller = Controller::start(&server);
        until("Stopped", &server, || is_stopped(&server)).await;
        drop(server.calls());
        let held = server.hold_watches(resource);
        server.edit("ragengines", "docs", |object| {
            object["spec"] = json!({"replicas": 0, "auth": {"writes": "token"}});
        });
        // Each change starts a reconcile, even of a field without effect.
        for count in 0..4 {
            server.edit("ragengines", "docs", |object| {
                object["metadata"]["labels"] = json!({"count": count.to_string()})
            });
            server.edit("services", "docs", |object| {
                object["metadata"]["annotations"]["count"] = count.to_string().into()
            });
            pass(Duration::from_secs(1)).await;
        }
        let expected = ["create secrets  201", "patch configmaps docs-settings 200", "patch deployments docs 200"];
        assert_eq!(object_writes(&server), expected, "{resource}");
        assert!(!is_stopped(&server), "{resource}: the write is not visible yet");
        server.release_watches(held);
        pass(A_WHILE).await;
        assert!(is_stopped(&server), "{resource}");
        assert_eq!(object_writes(&server), Vec::<String>::new(), "{resource}");
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn engine_changes_during_an_expired_watch_are_noticed() {
    let server = server_with(&engine(SPEC));
    let controller = Controller::start(&server);
    until("Stopped", &server, || is_stopped(&server)).await;
    server.expire_watches("ragengines", |server| {
        let compute = json!({"labelSelector": {"matchLabels": {"c": "d"}}});
        server.edit("ragengines", "docs", |object| object["spec"]["compute"] = compute);
    });
    let nodes = || server.get("deployments", "docs").unwrap()["spec"]["template"]["spec"]["nodeSelector"].clone();
    until("the change", &server, || nodes()["c"] == "d").await;
    let uid_of =
        |server: &ApiServer| server.get("ragengines", "docs").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    let uid = uid_of(&server);
    let knows = || {
        let referrers = &controller.context.referrers;
        !referrers.of(ragengine_operator::watches::Referred::Secret, "tests", "docs-write").is_empty()
    };
    assert!(knows());
    server.expire_watches("ragengines", |server| {
        server.delete("ragengines", "docs");
        server.put("ragengines", manifest(&engine(SPEC)));
    });
    pass(A_WHILE).await;
    assert!(knows(), "a new engine has its name");
    assert!(controller.context.statuses.last(&uid, None).conditions.is_empty(), "the deleted engine is forgotten");
    let uid = uid_of(&server);
    server.expire_watches("ragengines", |server| server.delete("ragengines", "docs"));
    pass(A_WHILE).await;
    assert!(!knows(), "the deleted engine is forgotten");
    assert!(controller.context.statuses.last(&uid, None).conditions.is_empty(), "the deleted engine is forgotten");
    controller.stop().await;
}

/// A failed list is retried. Nothing is done until all lists have succeeded, because an unseen object may exist.
#[tokio::test(start_paused = true)]
async fn nothing_is_done_before_all_lists_have_succeeded() {
    for resource in ["configmaps", "secrets", "deployments", "pods", "jobs", "ragengines", "indexes"] {
        for fault in [
            Fault::Refusal(403, "not allowed"),
            Fault::Refusal(500, "not now"),
            Fault::Refusal(410, "too old"),
            Fault::Garbage,
        ] {
            let case = format!("{resource} {fault:?}");
            let server = server_with(&engine(SPEC));
            server.fail("list", resource, usize::MAX, fault);
            let controller = Controller::start(&server);
            pass(A_WHILE).await;
            assert_eq!(server.calls(), [], "{case}");
            server.recover();
            until(&case, &server, || is_stopped(&server)).await;
            controller.stop().await;
        }
    }
}

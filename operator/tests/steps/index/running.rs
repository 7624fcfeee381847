//! The controller creates Jobs for Indexes, against an API server with injected faults.

use std::time::Duration;

use serde_json::json;

use super::fixture::{condition, finish, label, manifest, only_job, ready, server, succeed, task, task_name};
use crate::api_server::{Fault, pass};
use crate::controller::{A_MOMENT, A_WHILE, Controller, LONG, object_writes, until, writes};

#[tokio::test(start_paused = true)]
async fn a_new_index_is_filled_by_one_job() {
    let server = server();
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    pass(A_MOMENT).await;
    let sent = object_writes(&server);
    let of_index: Vec<_> = sent.iter().filter(|call| call.contains("handbook") || call.contains("jobs")).collect();
    let name = only_job(&server);
    let task_name = task_name(&server, &name);
    let owner_patch = format!("patch configmaps {task_name} 200");
    assert_eq!(of_index, ["create jobs  201", owner_patch.as_str()]);
    let task_object = server.get("configmaps", &task_name).unwrap();
    assert_eq!(task_object["immutable"], json!(true));
    assert_eq!(task_object["metadata"]["ownerReferences"][0]["kind"], "Job", "it is deleted with its Job");
    let task = task(&server);
    assert_eq!(task.server, "http://docs.tests.svc.cluster.local");
    assert_eq!((task.index.as_str(), task.owner.as_str(), task.confirmations.len()), ("handbook", "handbook", 0));
    assert_eq!(task.sync_id, label(&server, &only_job(&server), "sync-id"));
    assert_eq!(ready(&server, "handbook"), "False Syncing");
    let job = only_job(&server);
    succeed(&server, "handbook", &job);
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    drop(writes(&server));
    pass(LONG).await;
    assert_eq!(writes(&server), [], "nothing has changed");
    assert!(server.names("jobs").is_empty());
    controller.stop().await;

    let restarted = Controller::start(&server);
    pass(A_WHILE).await;
    let writes = object_writes(&server);
    assert!(writes.is_empty(), "after a restart: {writes:?}");
    restarted.stop().await;
}

/// Failed requests are retried, and no Job is created twice.
#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried() {
    for (verb, resource) in
        [("create", "configmaps"), ("patch", "configmaps"), ("create", "jobs"), ("patch", "indexes/status")]
    {
        for fault in [Fault::Refusal(500, "not now"), Fault::Refusal(429, "too many"), Fault::Silence, Fault::Garbage] {
            let case = format!("{verb} {resource} {fault:?}");
            let server = server();
            server.put("indexes", manifest("handbook", "{}"));
            server.fail(verb, resource, 2, fault);
            let controller = Controller::start(&server);
            until(&case, &server, || !server.names("jobs").is_empty() && ready(&server, "handbook") == "False Syncing")
                .await;
            pass(A_WHILE).await;
            assert_eq!(server.names("jobs").len(), 1, "{case}");
            controller.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_reported() {
    for (verb, resource) in [("create", "configmaps"), ("create", "jobs")] {
        let server = server();
        server.put("indexes", manifest("handbook", "{}"));
        let controller = Controller::start(&server);
        until("a Job", &server, || !server.names("jobs").is_empty()).await;
        let job = only_job(&server);
        succeed(&server, "handbook", &job);
        until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
        server.fail(verb, resource, usize::MAX, Fault::Refusal(403, "exceeded quota"));
        server.edit("indexes", "handbook", |index| index["spec"]["allowedRanges"] = json!(["10.0.0.0/8"]));
        until("ObjectRefused", &server, || ready(&server, "handbook") == "False ObjectRefused").await;
        assert!(condition(&server, "handbook", "Degraded").2.contains("exceeded quota"));
        server.recover();
        until("a Job again", &server, || !server.names("jobs").is_empty()).await;
        controller.stop().await;
    }
}

/// The delays are 30 s, 1 min, 2 min and so on. A new desired revision starts at once.
#[tokio::test(start_paused = true)]
async fn failed_synchronisations_are_retried_with_back_off() {
    let server = server();
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || server.names("jobs").len() == 1).await;
    let mut failed = Vec::new();
    for (attempt, wait_s) in [30, 60, 120, 240].into_iter().enumerate() {
        let job = server.names("jobs").into_iter().find(|job| !failed.contains(job)).unwrap();
        server.edit("jobs", &job, |object| {
            // The end time by the controller's clock.
            let now = (controller.context.clock)();
            object["status"] = json!({
                "startTime": now.to_string(),
                "conditions": [{
                    "type": "Failed", "status": "True", "lastTransitionTime": now.to_string(), "message": "no luck",
                }],
            });
        });
        failed.push(job);
        pass(A_MOMENT).await;
        assert_eq!(ready(&server, "handbook"), "False SyncFailed");
        assert!(condition(&server, "handbook", "Ready").2.contains("no luck"));
        let attempts = server.get("indexes", "handbook").unwrap()["status"]["attempts"].clone();
        assert_eq!(attempts, json!(attempt + 1));
        pass(Duration::from_secs(wait_s - 5)).await;
        assert_eq!(server.names("jobs").len(), failed.len(), "too early");
        pass(Duration::from_secs(10)).await;
        assert_eq!(server.names("jobs").len(), failed.len() + 1, "after {wait_s} s");
    }
    let job = server.names("jobs").into_iter().find(|job| !failed.contains(job)).unwrap();
    finish(&server, &job, "Failed");
    pass(A_MOMENT).await;
    server.edit("indexes", "handbook", |index| index["spec"]["allowedRanges"] = json!(["10.0.0.0/8"]));
    pass(A_MOMENT).await;
    assert_eq!(server.names("jobs").len(), failed.len() + 2, "a new desired revision starts at once");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_reference_created_later_is_noticed_at_once() {
    let server = server();
    let sources = "sources: [\
        {name: a, configMap: {name: faq}}, {name: b, git: {url: 'https://g/a', accessSecret: git}}, \
        {name: c, persistentVolumeClaim: {name: archive}}]";
    server.put("indexes", manifest("handbook", &format!("{{{sources}}}")));
    let controller = Controller::start(&server);
    for (reason, resource, name) in [
        ("SecretMissing", "secrets", "git"),
        ("ConfigMapMissing", "configmaps", "faq"),
        ("ClaimMissing", "persistentvolumeclaims", "archive"),
    ] {
        until(reason, &server, || ready(&server, "handbook") == format!("False {reason}")).await;
        assert!(condition(&server, "handbook", "Degraded").2.contains(name));
        assert!(server.names("jobs").is_empty());
        server.put(resource, json!({"metadata": {"name": name}}));
        pass(A_MOMENT).await;
    }
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    controller.stop().await;
}

/// The Secret is recognised by its name, because a backup restores it without its owner and a user may create it.
#[tokio::test(start_paused = true)]
async fn a_source_must_not_use_the_write_token_of_an_engine() {
    let server = server();
    server.put("secrets", json!({"metadata": {"name": "docs-write"}}));
    let sources = "sources: [{name: a, git: {url: 'https://g/a', accessSecret: docs-write}}]";
    server.put("indexes", manifest("handbook", &format!("{{{sources}}}")));
    let controller = Controller::start(&server);
    until("SecretRefused", &server, || ready(&server, "handbook") == "False SecretRefused").await;
    assert!(server.names("jobs").is_empty());
    controller.stop().await;
}

/// With `syncEgress`, no Job starts until the NetworkPolicy that limits it exists.
#[tokio::test(start_paused = true)]
async fn no_job_starts_before_its_network_policy_exists() {
    let server = server();
    server.edit("ragengines", "docs", |engine| engine["spec"]["networkPolicy"] = json!({"syncEgress": {"to": []}}));
    server.fail("patch", "networkpolicies", usize::MAX, Fault::Refusal(403, "no"));
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("EngineNotReady", &server, || ready(&server, "handbook") == "False EngineNotReady").await;
    pass(A_MOMENT).await;
    assert!(server.names("jobs").is_empty());
    assert!(condition(&server, "handbook", "Progressing").2.contains("syncEgress"));
    let labels = json!({
        "app.kubernetes.io/managed-by": "ragengine-operator", "app.kubernetes.io/instance": "docs",
    });
    server.put("networkpolicies", json!({"metadata": {"name": "docs.sync", "labels": labels}}));
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_created_later_or_with_other_data_is_noticed() {
    let server = server();
    let engine = server.get("ragengines", "docs").unwrap();
    server.delete("ragengines", "docs");
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("EngineNotFound", &server, || ready(&server, "handbook") == "False EngineNotFound").await;
    let mut starting = engine;
    starting["metadata"] = json!({"name": "docs"});
    starting["status"] = super::fixture::engine_status("False", "Starting", "data-1");
    server.put("ragengines", starting);
    until("EngineNotReady", &server, || ready(&server, "handbook") == "False EngineNotReady").await;
    assert!(server.names("jobs").is_empty());
    let status = |status: serde_json::Value| server.edit("ragengines", "docs", |engine| engine["status"] = status);
    status(super::fixture::engine_status("True", "Serving", "data-1"));
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    succeed(&server, "handbook", &job);
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    status(super::fixture::engine_status("True", "Serving", "data-2"));
    until("Refilling", &server, || ready(&server, "handbook") == "False Refilling").await;
    until("a Job again", &server, || !server.names("jobs").is_empty()).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lagging_cache_creates_no_second_job() {
    let server = server();
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("watches", &server, || server.watches("jobs") == 1).await;
    let held = server.hold_watches("jobs");
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    for range in ["10.0.0.0/8", "10.0.0.0/9", "10.0.0.0/10"] {
        server.edit("indexes", "handbook", |index| index["spec"]["allowedRanges"] = json!([range]));
        pass(Duration::from_secs(1)).await;
    }
    assert_eq!(server.names("jobs").len(), 1);
    server.release_watches(held);
    pass(A_WHILE).await;
    assert_eq!(server.names("jobs").len(), 1, "the first Job still runs");
    drop(writes(&server));
    controller.stop().await;
}

/// An expired watch is restarted, and changes made in between are noticed.
#[tokio::test(start_paused = true)]
async fn no_change_is_missed_when_a_watch_expires() {
    let server = server();
    server.put("secrets", json!({"metadata": {"name": "git"}}));
    server.put("indexes", manifest("handbook", "sources: [{name: a, git: {url: 'https://g/a', accessSecret: git}}]"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    server.expire_watches("jobs", |server| finish(server, &only_job(server), "Failed"));
    until("SyncFailed", &server, || ready(&server, "handbook") == "False SyncFailed").await;
    until("another Job", &server, || server.names("jobs").len() == 2).await;
    for job in server.names("jobs") {
        server.delete("jobs", &job);
    }
    until("a Job again", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    succeed(&server, "handbook", &job);
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;

    server.expire_watches("ragengines", |server| {
        server.edit("ragengines", "docs", |engine| engine["status"]["dataId"] = json!("data-2"));
    });
    until("Refilling", &server, || ready(&server, "handbook") == "False Refilling").await;
    let job = only_job(&server);
    succeed(&server, "handbook", &job);
    server.expire_watches("secrets", |server| server.delete("secrets", "git"));
    until("SecretMissing", &server, || ready(&server, "handbook") == "False SecretMissing").await;
    // A listed Secret is shown one second later if no event follows.
    server.expire_watches("secrets", |server| server.put("secrets", json!({"metadata": {"name": "git"}})));
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    succeed(&server, "handbook", &job);
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    server.expire_watches("secrets", |server| {
        server.edit("secrets", "git", |secret| secret["data"] = json!({"token": "bmV3"}));
    });
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    succeed(&server, "handbook", &job);

    let uid = server.get("indexes", "handbook").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    server.expire_watches("indexes", |server| server.delete("indexes", "handbook"));
    pass(A_WHILE).await;
    assert!(controller.context.index_statuses.last(&uid, None).conditions.is_empty(), "a deleted Index is forgotten");
    let is_known =
        !controller.context.referrers.of(ragengine_operator::watches::Referred::Secret, "tests", "git").is_empty();
    assert!(!is_known);
    controller.stop().await;
}

//! From an Index to its Job, one step after the other, against an API server that fails on purpose.

use std::time::Duration;

use serde_json::json;

use super::fixture::{condition, end, label, made, only_job, ready, server, succeed, task, task_name};
use crate::api_server::{Fault, pass};
use crate::controller::{A_MOMENT, A_WHILE, Controller, LONG, object_writes, until, writes};

#[tokio::test(start_paused = true)]
async fn a_new_index_is_filled_by_one_job() {
    let server = server();
    server.put("indexes", made("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    pass(A_MOMENT).await;
    let sent = object_writes(&server);
    let of_index: Vec<_> = sent.iter().filter(|call| call.contains("handbook") || call.contains("jobs")).collect();
    let name = only_job(&server);
    let task_name = task_name(&server, &name);
    let handed_over = format!("patch configmaps {task_name} 200");
    assert_eq!(of_index, ["create jobs  201", handed_over.as_str()]);
    let task_object = server.get("configmaps", &task_name).unwrap();
    assert_eq!(task_object["immutable"], json!(true));
    assert_eq!(task_object["metadata"]["ownerReferences"][0]["kind"], "Job", "it goes with its Job");
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

/// Whatever fails on the way is tried again, and nothing is made twice.
#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again() {
    for (verb, resource) in
        [("create", "configmaps"), ("patch", "configmaps"), ("create", "jobs"), ("patch", "indexes/status")]
    {
        for fault in [Fault::Refusal(500, "not now"), Fault::Refusal(429, "too many"), Fault::Silence, Fault::Garbage] {
            let case = format!("{verb} {resource} {fault:?}");
            let server = server();
            server.put("indexes", made("handbook", "{}"));
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
async fn what_is_refused_is_said() {
    for (verb, resource) in [("create", "configmaps"), ("create", "jobs")] {
        let server = server();
        server.put("indexes", made("handbook", "{}"));
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

/// 30 s, a minute, two …; and at once when something else is wanted.
#[tokio::test(start_paused = true)]
async fn what_failed_is_tried_again_ever_more_rarely() {
    let server = server();
    server.put("indexes", made("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || server.names("jobs").len() == 1).await;
    let mut failed = Vec::new();
    for (attempt, wait_s) in [30, 60, 120, 240].into_iter().enumerate() {
        let job = server.names("jobs").into_iter().find(|job| !failed.contains(job)).unwrap();
        server.edit("jobs", &job, |object| {
            // When it ended by the controller's own clock.
            let now = (controller.context.clock)();
            object["status"] = json!({
                "startTime": now.to_string(),
                "conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": now.to_string(), "message": "no luck"}],
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
    end(&server, &job, "Failed");
    pass(A_MOMENT).await;
    server.edit("indexes", "handbook", |index| index["spec"]["allowedRanges"] = json!(["10.0.0.0/8"]));
    pass(A_MOMENT).await;
    assert_eq!(server.names("jobs").len(), failed.len() + 2, "a new desired revision is not kept waiting");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_comes_late_is_noticed_at_once() {
    let server = server();
    let sources = "sources: [{name: a, configMap: {name: faq}}, {name: b, git: {url: 'https://g/a', accessSecret: git}}, {name: c, persistentVolumeClaim: {name: archive}}]";
    server.put("indexes", made("handbook", &format!("{{{sources}}}")));
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

/// Also one that has lost its owner, as when it was restored from a backup, or that a user has made.
#[tokio::test(start_paused = true)]
async fn no_source_has_the_write_token_of_an_engine() {
    let server = server();
    server.put("secrets", json!({"metadata": {"name": "docs-write"}}));
    let sources = "sources: [{name: a, git: {url: 'https://g/a', accessSecret: docs-write}}]";
    server.put("indexes", made("handbook", &format!("{{{sources}}}")));
    let controller = Controller::start(&server);
    until("SecretRefused", &server, || ready(&server, "handbook") == "False SecretRefused").await;
    assert!(server.names("jobs").is_empty());
    controller.stop().await;
}

/// Where the Jobs of an engine are to reach some addresses only, none begins before that holds.
#[tokio::test(start_paused = true)]
async fn no_job_begins_before_what_bounds_it_is_there() {
    let server = server();
    server.edit("ragengines", "docs", |engine| engine["spec"]["networkPolicy"] = json!({"syncEgress": {"to": []}}));
    server.fail("patch", "networkpolicies", usize::MAX, Fault::Refusal(403, "no"));
    server.put("indexes", made("handbook", "{}"));
    let controller = Controller::start(&server);
    until("EngineNotReady", &server, || ready(&server, "handbook") == "False EngineNotReady").await;
    pass(A_MOMENT).await;
    assert!(server.names("jobs").is_empty());
    assert!(condition(&server, "handbook", "Progressing").2.contains("syncEgress"));
    server.put("networkpolicies", json!({
        "metadata": {"name": "docs.sync", "labels": {"app.kubernetes.io/managed-by": "ragengine-operator", "app.kubernetes.io/instance": "docs"}},
    }));
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_comes_late_or_again_is_noticed() {
    let server = server();
    let engine = server.get("ragengines", "docs").unwrap();
    server.delete("ragengines", "docs");
    server.put("indexes", made("handbook", "{}"));
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
async fn a_cache_that_lags_makes_no_second_job() {
    let server = server();
    server.put("indexes", made("handbook", "{}"));
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
    assert_eq!(server.names("jobs").len(), 1, "it runs");
    drop(writes(&server));
    controller.stop().await;
}

/// Each watch, broken or too old, is begun anew; and what happened meanwhile is not missed.
#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_or_is_too_old_misses_nothing() {
    let server = server();
    server.put("secrets", json!({"metadata": {"name": "git"}}));
    server.put("indexes", made("handbook", "sources: [{name: a, git: {url: 'https://g/a', accessSecret: git}}]"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    server.expire_watches("jobs", |server| end(server, &only_job(server), "Failed"));
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
    // What is listed is shown a second later, when nobody else says anything of it.
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
    assert!(controller.context.index_statuses.last(&uid, None).conditions.is_empty(), "what is gone is forgotten");
    let is_known =
        !controller.context.referrers.of(ragengine_operator::watches::Referred::Secret, "tests", "git").is_empty();
    assert!(!is_known);
    controller.stop().await;
}

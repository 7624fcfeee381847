//! An Index that is deleted: in every order.

use serde_json::json;

use super::fixture::{condition, end, engine_status, label, made, only_job, ready, server, succeed, task};
use crate::api_server::{ApiServer, Fault, pass};
use crate::controller::{A_WHILE, Controller, until};

async fn synced(spec: &str) -> (ApiServer, Controller) {
    let server = server();
    server.put("indexes", made("handbook", spec));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    succeed(&server, "handbook", &job);
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    (server, controller)
}

fn is_gone(server: &ApiServer) -> bool {
    server.get("indexes", "handbook").is_none()
}

#[tokio::test(start_paused = true)]
async fn it_goes_when_its_documents_have() {
    let (server, controller) = synced("{}").await;
    server.delete("indexes", "handbook");
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let job = only_job(&server);
    assert_eq!(label(&server, &job, "wanted"), "deletion");
    let task = task(&server, "handbook");
    assert_eq!((task.sources.len(), task.owner.as_str()), (0, "handbook"));
    pass(A_WHILE).await;
    assert!(!is_gone(&server), "not before");
    assert_eq!(ready(&server, "handbook"), "False Deleting");
    end(&server, &job, "Failed");
    until("SyncFailed", &server, || ready(&server, "handbook") == "False SyncFailed").await;
    assert!(condition(&server, "handbook", "Ready").2.contains("deletionPolicy: Retain"));
    until("another Job", &server, || server.names("jobs").len() == 2).await;
    let second = server.names("jobs").into_iter().find(|name| *name != job).unwrap();
    end(&server, &second, "Complete");
    until("it is gone", &server, || is_gone(&server)).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_synchronisation_that_runs_is_stopped_first() {
    let server = server();
    server.put("indexes", made("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let first = only_job(&server);
    let labels = server.get("jobs", &first).unwrap()["metadata"]["labels"].clone();
    let pod = json!({"metadata": {"name": "a-pod", "labels": labels}, "status": {"phase": "Running"}});
    server.put("pods", pod);
    server.delete("indexes", "handbook");
    until("it is stopped", &server, || server.names("jobs").is_empty()).await;
    pass(A_WHILE).await;
    assert!(server.names("jobs").is_empty(), "its pod still writes");
    server.delete("pods", "a-pod");
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    assert_eq!(label(&server, &only_job(&server), "wanted"), "deletion");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn it_goes_at_once_when_there_is_nothing_to_delete_from() {
    for order in ["the engine first", "the Index first", "an engine that is on its way", "documents that stay"] {
        let (server, controller) = synced("{}").await;
        match order {
            "the engine first" => {
                server.delete("ragengines", "docs");
                until("EngineNotFound", &server, || ready(&server, "handbook") == "False EngineNotFound").await;
                server.delete("indexes", "handbook");
            }
            "the Index first" => {
                server.delete("indexes", "handbook");
                until("a Job", &server, || !server.names("jobs").is_empty()).await;
                server.delete("ragengines", "docs");
            }
            "an engine that is on its way" => {
                server.edit("ragengines", "docs", |engine| {
                    engine["metadata"]["deletionTimestamp"] = json!("2026-11-22T09:00:00Z");
                });
                server.delete("indexes", "handbook");
            }
            _ => {
                server.edit("indexes", "handbook", |index| index["spec"]["deletionPolicy"] = json!("Retain"));
                until("it is let go", &server, || {
                    server.get("indexes", "handbook").unwrap()["metadata"]["finalizers"] == json!([])
                })
                .await;
                server.delete("indexes", "handbook");
            }
        }
        until(order, &server, || is_gone(&server)).await;
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_an_engine_that_is_away_and_can_be_let_go() {
    for way_out in ["the engine comes back", "Retain"] {
        let (server, controller) = synced("{}").await;
        let status = |status| server.edit("ragengines", "docs", |engine| engine["status"] = status);
        status(engine_status("False", "Stopped", "data-1"));
        server.delete("indexes", "handbook");
        until("EngineNotReady", &server, || {
            let (_, reason, words) = condition(&server, "handbook", "Degraded");
            reason == "EngineNotReady" && words.contains("deletionPolicy: Retain")
        })
        .await;
        pass(A_WHILE).await;
        assert!(server.names("jobs").is_empty() && !is_gone(&server));
        match way_out {
            "Retain" => server.edit("indexes", "handbook", |index| index["spec"]["deletionPolicy"] = json!("Retain")),
            _ => {
                status(engine_status("True", "Serving", "data-1"));
                until("a Job", &server, || !server.names("jobs").is_empty()).await;
                end(&server, &only_job(&server), "Complete");
            }
        }
        until(way_out, &server, || is_gone(&server)).await;
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn it_does_not_hold_up_its_namespace() {
    for (verb, resource) in [("patch", "configmaps"), ("create", "jobs")] {
        let (server, controller) = synced("{}").await;
        let words =
            "jobs.batch is forbidden: unable to create new content in namespace tests because it is being terminated";
        server.fail(verb, resource, usize::MAX, Fault::Refusal(403, words));
        server.delete("indexes", "handbook");
        until(resource, &server, || is_gone(&server)).await;
        controller.stop().await;
    }
}

/// What others hold it by is theirs.
#[tokio::test(start_paused = true)]
async fn other_finalizers_are_kept() {
    let server = server();
    let mut index = made("handbook", "deletionPolicy: Delete");
    index["metadata"]["finalizers"] = json!(["example.com/theirs"]);
    server.put("indexes", index);
    let controller = Controller::start(&server);
    let finalizers = |server: &ApiServer| server.get("indexes", "handbook").unwrap()["metadata"]["finalizers"].clone();
    until("held", &server, || finalizers(&server) == json!(["example.com/theirs", "ragengine.dev/index"])).await;
    server.delete("ragengines", "docs");
    server.delete("indexes", "handbook");
    until("let go", &server, || finalizers(&server) == json!(["example.com/theirs"])).await;
    pass(A_WHILE).await;
    assert!(!is_gone(&server));
    controller.stop().await;
}

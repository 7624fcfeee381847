//! The task of a Job is in a ConfigMap. Its name may already be in use.

use serde_json::{Value, json};

use super::fixture::{condition, manifest, only_job, ready, server, task, task_name};
use crate::api_server::{ApiServer, Fault};
use crate::controller::{Controller, until};

fn with_index() -> ApiServer {
    let server = server();
    server.put("indexes", manifest("handbook", "{}"));
    server
}

/// The ConfigMap that the operator creates if the name is free.
async fn own_task() -> Value {
    let server = with_index();
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let mut task = server.get("configmaps", &task_name(&server, &only_job(&server))).unwrap();
    controller.stop().await;
    task["metadata"] = json!({"name": task["metadata"]["name"], "labels": task["metadata"]["labels"]});
    task
}

/// An owner reference to the Index is no proof. A user who may write ConfigMaps could otherwise send its Jobs anywhere.
#[tokio::test(start_paused = true)]
async fn a_foreign_task_is_not_used() {
    type Edit = fn(&mut Value, &str);
    let edits: [(&str, Edit); 4] = [
        ("no owner", |_, _| {}),
        ("another owner", |task, _| task["metadata"]["ownerReferences"] = owned_by("another")),
        ("more allowed ranges", |task, uid| {
            task["metadata"]["ownerReferences"] = owned_by(uid);
            let yaml = task["data"]["task.yaml"].as_str().unwrap();
            task["data"]["task.yaml"] = json!(format!("{yaml}allowedRanges: [0.0.0.0/0]\n"));
        }),
        ("not immutable", |task, uid| {
            task["metadata"]["ownerReferences"] = owned_by(uid);
            task.as_object_mut().unwrap().remove("immutable");
        }),
    ];
    let ours = own_task().await;
    let name = ours["metadata"]["name"].as_str().unwrap();
    for (what, edit) in edits {
        let server = with_index();
        let uid = server.get("indexes", "handbook").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
        let mut theirs = ours.clone();
        edit(&mut theirs, &uid);
        server.put("configmaps", theirs);
        let before = server.get("configmaps", name);
        let controller = Controller::start(&server);
        until(what, &server, || ready(&server, "handbook") == "False ObjectRefused").await;
        let message = condition(&server, "handbook", "Degraded").2;
        assert!(message.contains(name) && message.contains("delete"), "{what}: {message}");
        assert_eq!((server.get("configmaps", name), server.names("jobs")), (before, Vec::new()), "{what}");
        server.delete("configmaps", name);
        until("a Job", &server, || !server.names("jobs").is_empty()).await;
        assert!(task(&server).allowed_ranges.is_empty(), "{what}");
        controller.stop().await;
    }
}

fn owned_by(uid: &str) -> Value {
    let api_version = "ragengine.dev/v1alpha1";
    json!([{"apiVersion": api_version, "kind": "Index", "name": "handbook", "uid": uid, "controller": true}])
}

/// The task of a Job that could not be created may be outdated.
#[tokio::test(start_paused = true)]
async fn a_leftover_task_is_used_only_if_it_is_unchanged() {
    for (writes, names) in [("token", 1), ("open", 2)] {
        let server = with_index();
        server.fail("create", "jobs", usize::MAX, Fault::Refusal(403, "exceeded quota"));
        let controller = Controller::start(&server);
        until("ObjectRefused", &server, || ready(&server, "handbook") == "False ObjectRefused").await;
        server.edit("ragengines", "docs", |engine| engine["spec"]["auth"] = json!({"writes": writes}));
        server.recover();
        until("a Job", &server, || !server.names("jobs").is_empty()).await;
        assert_eq!(task(&server).write_token.is_some(), writes == "token", "{writes}");
        let tasks = server.names("configmaps").into_iter().filter(|name| name.starts_with("handbook-sync-"));
        assert_eq!(tasks.count(), names, "{writes}");
        controller.stop().await;
    }
}

//! What a Job is to do stands in a ConfigMap, whose name somebody could have taken.

use serde_json::{Value, json};

use super::fixture::{condition, made, only_job, ready, server, task, task_name};
use crate::api_server::{ApiServer, Fault};
use crate::controller::{Controller, until};

fn with_index() -> ApiServer {
    let server = server();
    server.put("indexes", made("handbook", "{}"));
    server
}

/// The ConfigMap that is made when nobody is in the way.
async fn made_by_us() -> Value {
    let server = with_index();
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    let mut made = server.get("configmaps", &task_name(&server, &only_job(&server))).unwrap();
    controller.stop().await;
    made["metadata"] = json!({"name": made["metadata"]["name"], "labels": made["metadata"]["labels"]});
    made
}

/// Also when it says that it belongs to the Index: whoever may write ConfigMaps could say where its Jobs go.
#[tokio::test(start_paused = true)]
async fn a_task_that_somebody_else_has_made_is_not_believed() {
    type Edit = fn(&mut Value, &str);
    let edits: [(&str, Edit); 4] = [
        ("nobody's", |_, _| {}),
        ("another Index's", |made, _| made["metadata"]["ownerReferences"] = owned_by("another")),
        ("one that lets it go anywhere", |made, uid| {
            made["metadata"]["ownerReferences"] = owned_by(uid);
            let task = made["data"]["task.yaml"].as_str().unwrap();
            made["data"]["task.yaml"] = json!(format!("{task}allowedRanges: [0.0.0.0/0]\n"));
        }),
        ("one that can be changed", |made, uid| {
            made["metadata"]["ownerReferences"] = owned_by(uid);
            made.as_object_mut().unwrap().remove("immutable");
        }),
    ];
    let ours = made_by_us().await;
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
        let said = condition(&server, "handbook", "Degraded").2;
        assert!(said.contains(name) && said.contains("delete"), "{what}: {said}");
        assert_eq!((server.get("configmaps", name), server.names("jobs")), (before, Vec::new()), "{what}");
        server.delete("configmaps", name);
        until("a Job", &server, || !server.names("jobs").is_empty()).await;
        assert!(task(&server).allowed_ranges.is_empty(), "{what}");
        controller.stop().await;
    }
}

fn owned_by(uid: &str) -> Value {
    json!([{"apiVersion": "ragengine.dev/v1alpha1", "kind": "Index", "name": "handbook", "uid": uid, "controller": true}])
}

/// What was left of a Job that could not be made may be old.
#[tokio::test(start_paused = true)]
async fn a_task_that_was_left_over_is_used_only_when_it_is_still_the_same() {
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

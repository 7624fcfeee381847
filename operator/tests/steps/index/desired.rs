//! Which changes start a synchronisation.

use ragengine_settings::sync::SyncTask;
use serde_json::{Value, json};

use super::fixture::{manifest, only_job, ready, server, succeed, task};
use crate::api_server::{ApiServer, pass};
use crate::controller::{A_WHILE, Controller, until};

const SPEC: &str = "{sources: [\
    {name: a, configMap: {name: faq}}, {name: b, git: {url: 'https://g/a', accessSecret: git}}, \
    {name: c, persistentVolumeClaim: {name: archive}}]}";

/// Waits for the next Job, completes it and returns its task.
async fn synced(server: &ApiServer) -> SyncTask {
    until("a Job", server, || !server.names("jobs").is_empty()).await;
    let (job, task) = (only_job(server), task(server));
    succeed(server, "handbook", &job);
    until("Synced", server, || ready(server, "handbook") == "True Synced").await;
    task
}

fn with_references() -> ApiServer {
    let server = server();
    for (resource, name) in [("configmaps", "faq"), ("secrets", "git"), ("persistentvolumeclaims", "archive")] {
        server.put(resource, json!({"metadata": {"name": name}}));
    }
    server.put("indexes", manifest("handbook", SPEC));
    server
}

#[tokio::test(start_paused = true)]
async fn some_changes_start_a_synchronisation() {
    type Edit = fn(&ApiServer);
    let changes: [(&str, Edit, usize); 12] = [
        (
            "the chunking",
            |server| server.edit("indexes", "handbook", |index| index["spec"]["chunking"] = json!({"maxTokens": 100})),
            1,
        ),
        (
            "the vector index",
            |server| server.edit("indexes", "handbook", |index| index["spec"]["vectorIndex"] = json!("SQ8")),
            1,
        ),
        (
            "a source",
            |server| {
                server.edit("indexes", "handbook", |index| index["spec"]["sources"][0]["include"] = json!(["*.md"]))
            },
            1,
        ),
        ("a ConfigMap", |server| server.edit("configmaps", "faq", |object| object["data"] = json!({"a.md": "A"})), 1),
        ("a Secret", |server| server.edit("secrets", "git", |object| object["data"] = json!({"token": "YQ=="})), 1),
        (
            "the sync annotation",
            |server| {
                server.edit("indexes", "handbook", |index| {
                    index["metadata"]["annotations"] = json!({"ragengine.dev/sync": "1"})
                })
            },
            1,
        ),
        (
            "a confirmation",
            |server| {
                server.edit("indexes", "handbook", |index| {
                    index["metadata"]["annotations"] = json!({"ragengine.dev/confirm-delete": "1"})
                })
            },
            1,
        ),
        (
            "a volume that was bound",
            |server| {
                server.edit("persistentvolumeclaims", "archive", |claim| {
                    claim["metadata"]["annotations"] = json!({"bound": "yes"})
                })
            },
            0,
        ),
        (
            "another annotation",
            |server| {
                server.edit("indexes", "handbook", |index| index["metadata"]["annotations"] = json!({"theirs": "1"}))
            },
            0,
        ),
        (
            "more memory",
            |server| {
                server.edit("indexes", "handbook", |index| {
                    index["spec"]["resources"]["limits"] = json!({"memory": "1Gi"})
                })
            },
            0,
        ),
        ("an unrelated ConfigMap", |server| server.put("configmaps", json!({"metadata": {"name": "unrelated"}})), 0),
        (
            "another write token",
            |server| server.edit("secrets", "docs-write", |secret| secret["data"] = json!({"token": "Yg=="})),
            0,
        ),
    ];
    for (what, change, jobs) in changes {
        let server = with_references();
        let controller = Controller::start(&server);
        synced(&server).await;
        change(&server);
        pass(A_WHILE).await;
        assert_eq!(server.names("jobs").len(), jobs, "{what}");
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_is_for_one_synchronisation() {
    let server = with_references();
    let controller = Controller::start(&server);
    assert!(synced(&server).await.confirmations.is_empty());
    let annotate = |annotations: Value| {
        server.edit("indexes", "handbook", |index| index["metadata"]["annotations"] = annotations);
    };
    annotate(json!({"ragengine.dev/confirm-delete": "site@01,faq@02"}));
    assert_eq!(synced(&server).await.confirmations, ["site@01", "faq@02"]);
    annotate(json!({"ragengine.dev/confirm-delete": "site@01,faq@02", "ragengine.dev/sync": "1"}));
    assert!(synced(&server).await.confirmations.is_empty(), "it was used");
    annotate(json!({"ragengine.dev/confirm-delete": "site@03"}));
    assert_eq!(synced(&server).await.confirmations, ["site@03"], "another value is another confirmation");
    controller.stop().await;
}

/// The index already has the requested documents, so it stays ready during the synchronisation.
#[tokio::test(start_paused = true)]
async fn an_index_stays_ready_after_a_sync_request_or_a_new_deletion_policy() {
    let server = with_references();
    let controller = Controller::start(&server);
    synced(&server).await;
    for change in [
        |index: &mut Value| index["metadata"]["annotations"] = json!({"ragengine.dev/sync": "1"}),
        |index: &mut Value| index["spec"]["deletionPolicy"] = json!("Retain"),
    ] {
        server.edit("indexes", "handbook", change);
        until("a Job", &server, || !server.names("jobs").is_empty()).await;
        pass(A_WHILE).await;
        assert_eq!(ready(&server, "handbook"), "True Synced");
        synced(&server).await;
    }
    controller.stop().await;
}

/// The Job of the first revision may still exist, so its name must not be reused.
#[tokio::test(start_paused = true)]
async fn a_reverted_change_starts_a_synchronisation() {
    let server = with_references();
    let controller = Controller::start(&server);
    let mut names = Vec::new();
    for include in ["a", "b", "a"] {
        server.edit("indexes", "handbook", |index| index["spec"]["sources"][0]["include"] = json!([include]));
        until("a Job", &server, || !server.names("jobs").is_empty()).await;
        names.push(only_job(&server));
        synced(&server).await;
    }
    names.dedup();
    assert_eq!(names.len(), 3);
    assert_ne!(names[0], names[2]);
    controller.stop().await;
}

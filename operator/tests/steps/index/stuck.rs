//! A Job whose pod cannot run.

use serde_json::json;

use super::fixture::{manifest, only_job, ready, server, succeed};
use crate::api_server::{ApiServer, pass};
use crate::controller::{A_WHILE, Controller, LONG, until};

/// Creates a pod of the Job whose image cannot be pulled.
fn put_stuck_pod(server: &ApiServer, job: &str) {
    let uid = server.get("jobs", job).unwrap()["metadata"]["uid"].clone();
    let labels = json!({
        "app.kubernetes.io/name": "ragengine-sync", "app.kubernetes.io/instance": "handbook",
        "app.kubernetes.io/managed-by": "ragengine-operator",
    });
    server.put("pods", json!({
        "metadata": {
            "name": "a-pod", "labels": labels,
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid, "controller": true}],
        },
        "status": {"phase": "Pending", "containerStatuses": [{
            "name": "ragengine", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
        }]},
    }));
}

/// The events are read with a back-off. Every five seconds would be 120 reads in ten minutes.
#[tokio::test(start_paused = true)]
async fn a_stuck_job_is_checked_with_back_off() {
    let server = server();
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    put_stuck_pod(&server, &only_job(&server));
    until("ImagePullFailed", &server, || ready(&server, "handbook") == "False ImagePullFailed").await;
    drop(server.calls());
    pass(LONG).await;
    let reads = server.lists("events");
    assert!((5..30).contains(&reads), "{reads} reads in ten minutes");
    assert_eq!(server.calls(), [], "nothing is written");
    controller.stop().await;
}

/// A newer desired revision waits for the running Job, but not for a Job that cannot start.
#[tokio::test(start_paused = true)]
async fn one_job_runs_at_a_time() {
    let server = server();
    server.put("indexes", manifest("handbook", "{}"));
    let controller = Controller::start(&server);
    until("a Job", &server, || server.names("jobs").len() == 1).await;
    let first = only_job(&server);
    let change = |range: &str| {
        server.edit("indexes", "handbook", |index| index["spec"]["allowedRanges"] = json!([range]));
    };
    change("10.0.0.0/8");
    pass(A_WHILE).await;
    assert_eq!(only_job(&server), first, "the first Job runs");
    succeed(&server, "handbook", &first);
    until("the second", &server, || server.names("jobs").len() == 1).await;
    let second = only_job(&server);
    assert_ne!(first, second);
    put_stuck_pod(&server, &second);
    until("ImagePullFailed", &server, || ready(&server, "handbook") == "False ImagePullFailed").await;
    assert_eq!(only_job(&server), second, "the desired revision is unchanged, so the Job may still start");
    change("192.168.0.0/16");
    until("the third", &server, || server.names("jobs").len() == 1 && only_job(&server) != second).await;
    controller.stop().await;
}

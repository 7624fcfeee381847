//! The operator does not act on a paused Index.

use ragengine_operator_api::{ConditionStatus, ConditionType, Reason};
use serde_json::{Value, json};

use super::fixture::{manifest, only_job, ready, server, succeed};
use crate::api_server::{ApiServer, pass};
use crate::controller::{A_WHILE, Controller, until};

fn pause(server: &ApiServer, value: &str) {
    server.edit("indexes", "handbook", |index| {
        index["metadata"]["annotations"]["ragengine.dev/paused"] = json!(value);
    });
}

fn progressing(server: &ApiServer) -> Value {
    let index = server.get("indexes", "handbook").unwrap();
    let conditions = index["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found =
        conditions.into_iter().find(|condition| condition["type"] == json!(ConditionType::Progressing)).unwrap();
    json!([found["status"], found["reason"]])
}

#[tokio::test(start_paused = true)]
async fn no_synchronisation_starts_while_an_index_is_paused() {
    let server = server();
    server.put("indexes", manifest("handbook", "schedule: '*/10 * * * *'"));
    let controller = Controller::start(&server);
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    pause(&server, "true");
    pass(A_WHILE).await;
    let running = only_job(&server);
    succeed(&server, "handbook", &running);
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    let observed = || server.get("indexes", "handbook").unwrap()["status"]["observedGeneration"].clone();
    let before = observed();
    server.edit("indexes", "handbook", |index| index["spec"]["sources"][0]["name"] = json!("another"));
    pass(A_WHILE * 20).await;
    assert!(server.names("jobs").is_empty(), "neither the schedule nor a new spec starts a Job");
    assert_eq!(progressing(&server), json!([ConditionStatus::False, Reason::Paused]));
    assert_eq!(observed(), before, "the change is not acted on");
    pause(&server, "false");
    until("a Job", &server, || !server.names("jobs").is_empty()).await;
    succeed(&server, "handbook", &only_job(&server));
    until("Synced", &server, || ready(&server, "handbook") == "True Synced").await;
    assert_ne!(observed(), before);
    controller.stop().await;
}

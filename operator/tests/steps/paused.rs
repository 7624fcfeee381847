//! The operator does not act on a paused RAGEngine.

use ragengine_operator_api::{ConditionStatus, ConditionType, Reason};
use serde_json::json;

use crate::api_server::{ApiServer, pass};
use crate::controller::{A_MOMENT, A_WHILE, Controller, condition, object_writes, server_with, status, until};
use crate::fixture::engine;

const SPEC: &str = "{replicas: 0, networkPolicy: {}, storage: {persistentVolume: {size: 1Gi}}}";

fn pause(server: &ApiServer, value: &str) {
    server
        .edit("ragengines", "docs", |object| object["metadata"]["annotations"]["ragengine.dev/paused"] = json!(value));
}

fn reason(server: &ApiServer, type_: ConditionType) -> Option<(ConditionStatus, Reason)> {
    condition(server, "docs", type_).map(|condition| (condition.status, condition.reason))
}

#[tokio::test(start_paused = true)]
async fn changes_wait_while_an_engine_is_paused() {
    let server = server_with(&engine(SPEC));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    pause(&server, "true");
    pass(A_MOMENT).await;
    assert_eq!(reason(&server, ConditionType::Ready), Some((ConditionStatus::True, Reason::Stopped)));
    drop(server.calls());
    server.delete("services", "docs");
    server.delete("secrets", "docs-write");
    server.edit("deployments", "docs", |object| object["spec"]["replicas"] = json!(3));
    server.edit("ragengines", "docs", |object| object["spec"] = json!({"replicas": 0, "image": {"tag": "2"}}));
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), Vec::<String>::new());
    assert_eq!(reason(&server, ConditionType::Progressing), Some((ConditionStatus::False, Reason::Paused)));
    assert_eq!(status(&server, "docs").observed_generation, Some(1), "the change is not acted on");
    drop(server.calls());
    pause(&server, "false");
    let is_done = || {
        let deployment = server.get("deployments", "docs").unwrap();
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        deployment["spec"]["replicas"] == 0 && image == "ragengine:2"
    };
    until("the changes made while paused", &server, is_done).await;
    pass(A_WHILE).await;
    assert!(server.get("services", "docs").is_some() && server.get("networkpolicies", "docs").is_none());
    assert_eq!(reason(&server, ConditionType::Progressing), Some((ConditionStatus::False, Reason::AsExpected)));
    assert_eq!(status(&server, "docs").observed_generation, Some(2));
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_created_paused_is_not_started() {
    let server = ApiServer::default();
    let mut engine = serde_json::to_value(engine("{}")).unwrap();
    engine["metadata"] = json!({"name": "docs", "annotations": {"ragengine.dev/paused": "true"}});
    server.put("ragengines", engine);
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), Vec::<String>::new());
    assert_eq!(reason(&server, ConditionType::Progressing), Some((ConditionStatus::False, Reason::Paused)));
    assert_eq!(status(&server, "docs").observed_generation, None);
    controller.stop().await;
}

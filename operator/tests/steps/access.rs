//! What the operator hands over to servers whose callers must prove who they are: rules and keys.

use std::sync::Arc;

use ragengine_operator::cluster_issuer::Issuer;
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, pass};
use crate::controller::{A_MOMENT, A_WHILE, Controller, condition, manifest, object_writes, server_with, until};
use crate::fixture::{engine, issuer};

const WITH_MODES: &str = "{replicas: 1, auth: {modes: [jwt]}}";

fn read(name: &str, keys: &str) -> Result<Issuer, String> {
    Ok(Issuer { name: name.to_owned(), keys: keys.to_owned() })
}

fn handed_over(server: &ApiServer) -> Option<Value> {
    Some(server.get("configmaps", "docs-auth")?["data"].clone())
}

fn access(server: &ApiServer) -> Value {
    let files = handed_over(server).unwrap();
    serde_saphyr::from_str(files["access.yaml"].as_str().unwrap()).unwrap()
}

fn settings(server: &ApiServer) -> Value {
    let file = server.get("configmaps", "docs-settings").unwrap()["data"]["settings.yaml"].clone();
    serde_saphyr::from_str(file.as_str().unwrap()).unwrap()
}

fn pod(server: &ApiServer) -> Value {
    server.get("deployments", "docs").unwrap()["spec"]["template"].clone()
}

/// An Index that has filled its index.
fn index(name: &str, access: &Value) -> Value {
    let mut index = crate::index::manifest(name, "{}");
    index["spec"]["access"] = access.clone();
    index["status"] = json!({"lastSuccessTime": "2026-11-22T08:00:00Z"});
    index
}

#[tokio::test(start_paused = true)]
async fn the_pod_waits_for_the_issuer_and_is_not_restarted_by_rules_and_keys() {
    let server = server_with(&engine(WITH_MODES));
    server.put("indexes", index("handbook", &json!({"read": ["group:staff"]})));
    let controller = Controller::start(&server);
    until("the rules", &server, || handed_over(&server).is_some()).await;
    pass(A_WHILE).await;
    assert!(server.get("deployments", "docs").is_none(), "the name of the issuer is in the settings");
    let issuer = Arc::clone(&controller.context.cluster_issuer);
    issuer.note(Err("/openid/v1/jwks: forbidden".to_owned()));
    let reason = || condition(&server, "docs", ConditionType::Degraded).map(|condition| condition.reason);
    until("the error is reported", &server, || reason() == Some(Reason::TokenKeysUnreadable)).await;

    issuer.note(read("https://issuer", "{\"keys\":[1]}"));
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    let of_cluster = json!({
        "issuer": "https://issuer", "audience": "http://docs.tests.svc", "jwksFile": "/etc/ragengine-auth/jwks.json",
        "kubernetes": true,
    });
    assert_eq!(settings(&server)["auth"]["jwt"], json!([of_cluster]));
    assert_eq!(settings(&server)["auth"]["accessFile"], "/etc/ragengine-auth/access.yaml");
    assert_eq!(handed_over(&server).unwrap()["jwks.json"], "{\"keys\":[1]}");
    let operator = "serviceAccount:ragengine-system/ragengine-operator";
    assert_eq!(
        access(&server),
        json!({"operator": operator, "indexes": {"handbook": {"read": ["group:staff"], "write": []}}})
    );

    let before = pod(&server);
    issuer.note(read("https://issuer", "{\"keys\":[2]}"));
    until("new keys", &server, || handed_over(&server).unwrap()["jwks.json"] == "{\"keys\":[2]}").await;
    issuer.note(Err("503".to_owned()));
    server.edit("indexes", "handbook", |index| index["spec"]["access"] = json!({"write": ["user:ann"]}));
    let rules = |server: &ApiServer| access(server)["indexes"].clone();
    // Only those who had access before: no server has said yet whose documents it has.
    until("new rules", &server, || rules(&server)["handbook"] == json!({"read": [], "write": []})).await;
    assert_eq!(handed_over(&server).unwrap()["jwks.json"], "{\"keys\":[2]}", "the last good keys stay");
    server.delete("indexes", "handbook");
    until("no rules", &server, || rules(&server) == json!({})).await;
    assert_eq!(pod(&server), before);
    controller.stop().await;
}

/// The status of an Index alone wakes the engine.
#[tokio::test(start_paused = true)]
async fn the_rules_of_the_index_that_is_filled_apply() {
    let server = server_with(&engine(WITH_MODES));
    for (name, who) in [("a", "user:ann"), ("b", "user:bob")] {
        let mut index = index(name, &json!({"read": [who]}));
        index["spec"]["indexName"] = json!("handbook");
        index.as_object_mut().unwrap().remove("status");
        server.put("indexes", index);
    }
    let controller = Controller::start(&server);
    let rules = || handed_over(&server).map(|_| access(&server)["indexes"]["handbook"]["read"].clone());
    until("the rules of the older Index", &server, || rules() == Some(json!(["user:ann"]))).await;
    pass(A_WHILE).await;
    server.edit("indexes", "b", |index| index["status"]["documents"] = json!(1));
    // Nobody is in both: no server has said yet whose documents it has.
    until("the rules of the filled Index", &server, || rules() == Some(json!([]))).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_was_restarted_keeps_what_was_handed_over() {
    let server = server_with(&engine(WITH_MODES));
    let controller = Controller::start(&server);
    controller.context.cluster_issuer.note(Ok(Issuer::clone(&issuer())));
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    pass(A_WHILE).await;
    controller.stop().await;
    drop(object_writes(&server));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    controller.context.cluster_issuer.note(Err("503".to_owned()));
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), [""; 0]);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_handed_over_without_modes() {
    let server = server_with(&engine(WITH_MODES));
    let controller = Controller::start(&server);
    controller.context.cluster_issuer.note(Ok(Issuer::clone(&issuer())));
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    server.put("ragengines", manifest(&engine("{replicas: 1}")));
    until("the ConfigMap is gone", &server, || handed_over(&server).is_none()).await;
    pass(A_MOMENT).await;
    assert!(!pod(&server).to_string().contains("docs-auth"));
    controller.stop().await;
}

/// The server refuses two issuers of one name.
#[test]
fn a_further_issuer_of_the_clusters_name_is_left_out() {
    let name = &issuer().name;
    let spec = format!(
        "{{auth: {{modes: [jwt], jwt: [{{issuer: '{name}', audience: a, jwksUrl: 'http://a'}}, \
         {{issuer: b, audience: b, jwksUrl: 'http://b'}}]}}}}"
    );
    let file = crate::fixture::built(&engine(&spec)).config_map.unwrap().data.unwrap()["settings.yaml"].clone();
    let settings = ragengine_settings::from_yaml(&file).unwrap();
    let issuers: Vec<_> = settings.auth.jwt.iter().map(|issuer| (issuer.issuer.as_str(), issuer.kubernetes)).collect();
    assert_eq!(issuers, [(name.as_str(), true), ("b", false)]);
}

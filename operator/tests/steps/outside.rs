//! The Ingress and the HTTPRoute of an engine.

use std::sync::Arc;

use ragengine_operator::gateway::Gateways;
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::json;

use crate::api_server::pass;
use crate::controller::{A_WHILE, Controller, condition, manifest, object_writes, server_with, until};
use crate::fixture::{defaults, engine};

const BOTH: &str = "{allowAnonymous: true, ingress: {host: docs.example}, \
                    httpRoute: {parentRefs: [{name: public, namespace: gateways}]}}";

#[tokio::test(start_paused = true)]
async fn they_are_created_repaired_and_removed() {
    let server = server_with(&engine(BOTH));
    let controller = Controller::start_in(&server, defaults(), Gateways::Present, Arc::default());
    until("both", &server, || ["ingresses", "httproutes"].iter().all(|kind| server.get(kind, "docs").is_some())).await;
    let route = server.get("httproutes", "docs").unwrap();
    assert_eq!((&route["apiVersion"], &route["kind"]), (&json!("gateway.networking.k8s.io/v1"), &json!("HTTPRoute")));
    assert_eq!(route["spec"]["parentRefs"][0]["namespace"], "gateways");
    let ingress = server.get("ingresses", "docs").unwrap();
    assert_eq!(ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"], "docs");
    pass(A_WHILE).await;
    drop(object_writes(&server));
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), [""; 0]);
    server.edit("httproutes", "docs", |route| route["spec"]["parentRefs"][0]["name"] = json!("other"));
    server.edit("ingresses", "docs", |ingress| ingress["spec"]["rules"][0]["host"] = json!("evil.example"));
    let (name, host) = ("/spec/parentRefs/0/name", "/spec/rules/0/host");
    let is = |kind: &str, place: &str, text: &str| server.get(kind, "docs").unwrap().pointer(place).unwrap() == text;
    until("repaired", &server, || is("httproutes", name, "public") && is("ingresses", host, "docs.example")).await;
    server.put("ragengines", manifest(&engine("{}")));
    until("gone", &server, || ["ingresses", "httproutes"].iter().all(|kind| server.get(kind, "docs").is_none())).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_gateways_is_reported() {
    let server = server_with(&engine(BOTH));
    let controller = Controller::start(&server);
    until("an Ingress", &server, || server.get("ingresses", "docs").is_some()).await;
    let reason = || condition(&server, "docs", ConditionType::Degraded).map(|condition| condition.reason);
    until("reported", &server, || reason() == Some(Reason::GatewayApiMissing)).await;
    assert!(server.get("httproutes", "docs").is_none());
    controller.stop().await;
}

//! Failures around NodeClaims: nothing is made twice, and nothing is deleted because of an incomplete answer.

use std::time::Duration;

use ragengine_operator::rag_engine::nodes::NEXT_ATTEMPT;
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::json;

use super::{LARGE, all_are_ready, claims, finalizers, karpenter_with, node_selector, set, start, until_claims};
use crate::api_server::{Fault, Karpenter, pass};
use crate::controller::{A_WHILE, Controller, LONG, condition, object_writes, until};

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_while_the_claims_cannot_be_read() {
    for fault in [Fault::Refusal(403, "forbidden"), Fault::Refusal(500, "not now"), Fault::Garbage, Fault::Silence] {
        let case = format!("{fault:?}");
        let server = karpenter_with(LARGE);
        let controller = start(&server);
        let before = until_claims(&server, 1).await;
        pass(A_WHILE).await;
        drop(server.calls());
        server.fail("list", "nodeclaims", usize::MAX, fault);
        set(&server, "{compute: {instanceType: larger}}");
        pass(A_WHILE).await;
        set(&server, "{}");
        pass(LONG).await;
        assert_eq!((claims(&server), finalizers(&server).len()), (before, 1), "{case}");
        let writes = object_writes(&server);
        assert!(!writes.iter().any(|call| call.contains("nodeclaims")), "{case}: {writes:?}");
        server.recover();
        until_claims(&server, 0).await;
        until(&case, &server, || finalizers(&server).is_empty()).await;
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_may_not_read_them_says_so() {
    let server = karpenter_with(LARGE);
    server.fail("list", "nodeclaims", usize::MAX, Fault::Refusal(403, "nodeclaims.karpenter.sh is forbidden"));
    let controller = start(&server);
    let degraded = || condition(&server, "docs", ConditionType::Degraded).map(|found| (found.reason, found.message));
    until("it says so", &server, || degraded().is_some_and(|(reason, _)| reason == Reason::ObjectRefused)).await;
    let (_, message) = degraded().unwrap();
    assert!(message.contains("nodeclaims.karpenter.sh is forbidden. Set karpenter.nodeClass"), "{message}");
    assert!(claims(&server).is_empty() && finalizers(&server).is_empty());
    controller.stop().await;
}

/// An API server that does not say whether it has NodeClaims changes no pod.
#[tokio::test(start_paused = true)]
async fn silence_changes_nothing() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let before = until_claims(&server, 1).await;
    pass(A_WHILE).await;
    let (selector, _) = (node_selector(&server), server.calls());
    server.has_karpenter(Karpenter::Silent);
    server.edit("services", "docs", |service| service["metadata"]["annotations"]["theirs"] = json!("a"));
    pass(LONG).await;
    assert_eq!((claims(&server), node_selector(&server)), (before, selector));
    assert_eq!(object_writes(&server), [""; 0]);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_karpenter_deletes_is_made_again_after_a_while() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let before = until_claims(&server, 1).await;
    pass(Duration::from_secs(5)).await;
    server.delete("nodeclaims", &before[0]);
    let message = || condition(&server, "docs", ConditionType::Ready).map(|ready| ready.message).unwrap_or_default();
    until("it is reported", &server, || message().contains("is made again within a minute")).await;
    pass(NEXT_ATTEMPT / 2).await;
    assert_eq!(claims(&server), [""; 0], "the cloud is not asked again at once");
    pass(NEXT_ATTEMPT).await;
    assert_eq!(claims(&server), before);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_that_name_that_is_not_ours_is_not_touched() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let name = until_claims(&server, 1).await.remove(0);
    controller.stop().await;
    server.delete("nodeclaims", &name);
    server.put("nodeclaims", json!({"metadata": {"name": name}, "spec": {}}));
    let controller = start(&server);
    let degraded = || condition(&server, "docs", ConditionType::Degraded).unwrap();
    until("refused", &server, || degraded().reason == Reason::ObjectRefused).await;
    assert!(degraded().message.contains(&format!("NodeClaim {name} already exists")), "{}", degraded().message);
    set(&server, "{}");
    until("no finalizer", &server, || finalizers(&server).is_empty()).await;
    assert_eq!(claims(&server), [name]);
    controller.stop().await;
}

/// Without the node class the operator no longer makes nodes, and may not delete those that it made.
#[tokio::test(start_paused = true)]
async fn nodes_stay_when_the_node_class_is_taken_away() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let before = until_claims(&server, 1).await;
    pass(A_WHILE).await;
    controller.stop().await;
    server.fail("list", "nodeclaims", usize::MAX, Fault::Refusal(403, "nodeclaims.karpenter.sh is forbidden"));
    let controller = Controller::start(&server);
    let degraded = || condition(&server, "docs", ConditionType::Degraded).unwrap();
    until("it says so", &server, || degraded().message.contains("Set karpenter.nodeClass")).await;
    assert_eq!((claims(&server), finalizers(&server).len()), (before, 1));
    controller.stop().await;
}

/// A pod that is kept keeps its node: it would be stopped with it.
#[tokio::test(start_paused = true)]
async fn a_pod_that_may_not_be_changed_keeps_its_node() {
    let with =
        |machine: &str| format!("{{compute: {{instanceType: {machine}}}, inferenceService: {{accessSecret: llm}}}}");
    let server = karpenter_with(&with("large"));
    let controller = start(&server);
    let before = until_claims(&server, 1).await;
    pass(A_WHILE).await;
    server.delete("secrets", "llm");
    pass(A_WHILE).await;
    set(&server, &with("larger"));
    let ready = || condition(&server, "docs", ConditionType::Ready).unwrap();
    until("the Secret is missed", &server, || ready().reason == Reason::SecretMissing).await;
    pass(LONG).await;
    assert_eq!(claims(&server), before);
    server.fail("patch", "deployments", 3, Fault::Refusal(500, "not now"));
    server.put("secrets", json!({"metadata": {"name": "llm"}}));
    until_claims(&server, 2).await;
    all_are_ready(&server);
    until("another node", &server, || claims(&server).len() == 1 && claims(&server) != before).await;
    assert_eq!(node_selector(&server)["node.kubernetes.io/instance-type"], "larger");
    controller.stop().await;
}

//! A deleted engine takes its NodeClaims with it.

use ragengine_operator_api::{ConditionType, Reason};
use serde_json::json;

use super::{LARGE, claims, finalizers, karpenter_with, start, until_claims};
use crate::api_server::{Fault, Karpenter, pass};
use crate::controller::{A_MOMENT, A_WHILE, Controller, LONG, condition, until};

#[tokio::test(start_paused = true)]
async fn they_are_deleted_and_then_the_engine_goes() {
    let server = karpenter_with("{compute: {instanceType: large, count: 2}}");
    let controller = start(&server);
    until_claims(&server, 2).await;
    pass(A_WHILE).await;
    server.delete("ragengines", "docs");
    until("gone", &server, || server.get("ragengines", "docs").is_none()).await;
    assert_eq!(claims(&server), [""; 0]);
    controller.stop().await;
}

/// Whoever may write a RAGEngine can take its finalizer away. Its machines would run on.
#[tokio::test(start_paused = true)]
async fn they_are_deleted_when_the_engine_went_without_its_finalizer() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let name = until_claims(&server, 1).await.remove(0);
    pass(A_WHILE).await;
    server.edit("ragengines", "docs", |engine| {
        engine["metadata"]["annotations"] = json!({"ragengine.dev/paused": "true"});
        engine["metadata"]["finalizers"] = json!([]);
    });
    pass(A_WHILE).await;
    server.delete("ragengines", "docs");
    assert!(server.get("ragengines", "docs").is_none(), "nothing holds it");
    // Broken is not gone.
    server.fail("list", "ragengines", usize::MAX, Fault::Refusal(500, "not now"));
    pass(LONG).await;
    assert_eq!(claims(&server), [name]);
    server.recover();
    until_claims(&server, 0).await;
    controller.stop().await;
}

/// Karpenter holds a NodeClaim until its node is gone. Nothing is left for the operator to do, so a cluster whose
/// Karpenter does not run can delete the engine and its namespace.
#[tokio::test(start_paused = true)]
async fn the_engine_does_not_wait_for_the_node() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    let name = until_claims(&server, 1).await.remove(0);
    server.edit("nodeclaims", &name, |claim| claim["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]));
    pass(A_WHILE).await;
    server.delete("ragengines", "docs");
    until("gone", &server, || server.get("ragengines", "docs").is_none()).await;
    assert!(server.get("nodeclaims", &name).unwrap()["metadata"]["deletionTimestamp"].is_string());
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn it_does_not_wait_for_a_karpenter_that_was_removed() {
    for has_node_class in [true, false] {
        let server = karpenter_with(LARGE);
        let controller = start(&server);
        until_claims(&server, 1).await;
        pass(A_WHILE).await;
        controller.stop().await;
        server.has_karpenter(Karpenter::Absent);
        server.delete("ragengines", "docs");
        assert!(server.get("ragengines", "docs").is_some(), "it has the finalizer");
        let controller = if has_node_class { start(&server) } else { Controller::start(&server) };
        until("gone", &server, || server.get("ragengines", "docs").is_none()).await;
        controller.stop().await;
    }
}

/// Broken is not gone: as long as it is not known whether NodeClaims are left, the engine stays.
#[tokio::test(start_paused = true)]
async fn a_failure_keeps_the_engine_and_its_status_says_why() {
    for (verb, fault) in [
        ("list", Fault::Refusal(403, "nodeclaims.karpenter.sh is forbidden")),
        ("list", Fault::Refusal(500, "not now")),
        ("list", Fault::Garbage),
        ("delete", Fault::Refusal(500, "not now")),
        ("delete", Fault::Refusal(403, "not yours")),
    ] {
        let case = format!("{verb} {fault:?}");
        let server = karpenter_with(LARGE);
        let controller = start(&server);
        until_claims(&server, 1).await;
        pass(A_WHILE).await;
        server.fail(verb, "nodeclaims", usize::MAX, fault);
        server.delete("ragengines", "docs");
        let degraded = || condition(&server, "docs", ConditionType::Degraded).unwrap();
        until(&case, &server, || degraded().reason == Reason::DeletionFailed).await;
        pass(LONG).await;
        assert_eq!((claims(&server).len(), finalizers(&server).len()), (1, 1), "{case}: {}", degraded().message);
        server.recover();
        until(&case, &server, || server.get("ragengines", "docs").is_none()).await;
        assert_eq!(claims(&server), [""; 0], "{case}");
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_say_whether_it_has_node_claims_keeps_the_engine() {
    let server = karpenter_with(LARGE);
    let controller = start(&server);
    until_claims(&server, 1).await;
    pass(A_WHILE).await;
    server.has_karpenter(Karpenter::Silent);
    server.delete("ragengines", "docs");
    pass(LONG).await;
    assert_eq!((claims(&server).len(), finalizers(&server).len()), (1, 1));
    server.has_karpenter(Karpenter::Present);
    until("gone", &server, || server.get("ragengines", "docs").is_none()).await;
    pass(A_MOMENT).await;
    assert_eq!(claims(&server), [""; 0]);
    controller.stop().await;
}

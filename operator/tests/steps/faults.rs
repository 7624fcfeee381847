//! Failed requests to the API server: the operator recovers, and does nothing twice.

use std::time::Duration;

use ragengine_operator::defaults::Defaults;
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::json;

use crate::api_server::{ApiServer, Call, Fault, Karpenter, pass};
use crate::controller::{
    A_MOMENT, A_SECOND_MORE, A_WHILE, Controller, LONG, condition, object_writes, server_with, status, until, writes,
};
use crate::fixture::{defaults, engine, node_class};

/// Every kind of write for a new engine.
const WRITES: [(&str, &str); 8] = [
    ("patch", "configmaps"),
    ("patch", "serviceaccounts"),
    ("create", "secrets"),
    ("patch", "persistentvolumeclaims"),
    ("patch", "networkpolicies"),
    ("patch", "services"),
    ("patch", "deployments"),
    ("patch", "ragengines/status"),
];

const SPEC: &str = "{replicas: 0, networkPolicy: {}, storage: {persistentVolume: {size: 1Gi}}}";

fn is_stopped(server: &ApiServer) -> bool {
    condition(server, "docs", ConditionType::Ready).is_some_and(|ready| ready.reason == Reason::Stopped)
}

fn of_kind(calls: &[Call], verb: &str, resource: &str) -> usize {
    calls.iter().filter(|call| call.verb == verb && call.resource == resource).count()
}

/// A request with a transient failure is retried with a back-off. All other writes happen once.
#[tokio::test(start_paused = true)]
async fn transient_failures_are_retried() {
    let transient = [
        Fault::Refusal(409, "the object has been modified"),
        Fault::Refusal(429, "too many requests"),
        Fault::Refusal(500, "etcdserver: leader changed"),
        Fault::Refusal(503, "the server is shutting down"),
        Fault::Silence,
        Fault::Garbage,
    ];
    for (verb, resource) in WRITES {
        for fault in &transient {
            // A status write with this conflict is dropped: see the test below.
            if resource == "ragengines/status" && matches!(fault, Fault::Refusal(409, _)) {
                continue;
            }
            let case = format!("{verb} {resource} {fault:?}");
            let server = server_with(&engine(SPEC));
            server.fail(verb, resource, 3, fault.clone());
            let controller = Controller::start(&server);
            until(&case, &server, || is_stopped(&server)).await;
            pass(A_WHILE).await;
            let calls = writes(&server);
            for (verb_of_other, other) in WRITES {
                let count = of_kind(&calls, verb_of_other, other);
                match other {
                    // Before and after the objects exist, and once per failure.
                    "ragengines/status" => assert!(count <= 6, "{case}: {count} statuses, {calls:#?}"),
                    _ if other == resource => assert!((1..=4).contains(&count), "{case}: {calls:#?}"),
                    _ => assert_eq!(count, 1, "{case}, {other}: {calls:#?}"),
                }
            }
            drop(server.calls());
            pass(A_WHILE).await;
            assert_eq!(writes(&server), [], "{case}: nothing is written once the engine is stopped");
            controller.stop().await;
        }
    }
}

/// A second token would lock out every client that has the first.
#[tokio::test(start_paused = true)]
async fn a_token_is_not_made_twice_when_the_reply_is_lost() {
    let server = server_with(&engine(SPEC));
    server.fail("create", "secrets", 1, Fault::Garbage);
    let controller = Controller::start(&server);
    pass(A_SECOND_MORE).await;
    let token = server.get("secrets", "docs-write").unwrap()["data"]["token"].clone();
    assert!(token.is_string());
    until("Stopped", &server, || is_stopped(&server)).await;
    pass(A_WHILE).await;
    assert_eq!(server.get("secrets", "docs-write").unwrap()["data"]["token"], token);
    controller.stop().await;
}

/// Another client has created the Secret first. That is not an error, and its token is used.
#[tokio::test(start_paused = true)]
async fn an_existing_token_is_used() {
    let server = server_with(&engine(SPEC));
    let controller = Controller::start(&server);
    until("Stopped", &server, || is_stopped(&server)).await;
    server.expire_watches("secrets", |server| server.delete("secrets", "docs-write"));
    let theirs = json!({"metadata": {"name": "docs-write"}, "data": {"token": "dGhlaXJz"}});
    server.fail("create", "secrets", 1, Fault::Refusal(409, "already exists"));
    until("a create conflicts", &server, || writes(&server).iter().any(|call| call.status == Some(409))).await;
    server.put("secrets", theirs);
    pass(A_WHILE).await;
    assert_eq!(server.get("secrets", "docs-write").unwrap()["data"]["token"], "dGhlaXJz");
    assert!(!controller.context.metrics.text().contains("errors_total{"), "{}", controller.context.metrics.text());
    controller.stop().await;
}

/// A permanent failure is reported, and the request is retried with a back-off.
#[tokio::test(start_paused = true)]
async fn a_refusal_is_reported() {
    let refusals = [
        (403, "forbidden: unable to create new content in namespace tests because it is being terminated"),
        (422, "spec: Invalid value"),
        (403, "exceeded quota: objects"),
        (400, "admission webhook denied the request"),
    ];
    let of_objects = WRITES.into_iter().filter(|(_, resource)| *resource != "ragengines/status");
    for ((verb, resource), (code, message)) in of_objects.zip(refusals.into_iter().cycle()) {
        let case = format!("{verb} {resource} {code} {message}");
        let server = server_with(&engine(SPEC));
        server.fail(verb, resource, usize::MAX, Fault::Refusal(code, message));
        let controller = Controller::start(&server);
        pass(LONG).await;
        let (ready, degraded) =
            (condition(&server, "docs", ConditionType::Ready), condition(&server, "docs", ConditionType::Degraded));
        for condition in [ready.unwrap(), degraded.unwrap()] {
            assert_eq!(condition.reason, Reason::ObjectRefused, "{case}");
            assert!(condition.message.contains(message), "{case}: {}", condition.message);
        }
        let calls = writes(&server);
        let (attempts, statuses) = (of_kind(&calls, verb, resource), of_kind(&calls, "patch", "ragengines/status"));
        // In ten minutes: 0.5 s, 1 s, 2 s … 256 s, with up to 50% jitter.
        assert!((6..=12).contains(&attempts), "{case}: {attempts}");
        assert_eq!(statuses, 1, "{case}: the status is written once");
        assert_eq!(of_kind(&calls, "create", "events"), 1, "{case}: one event is created");
        server.recover();
        until(&case, &server, || is_stopped(&server)).await;
        controller.stop().await;
    }
}

/// A status write is dropped if the engine is deleted or recreated.
#[tokio::test(start_paused = true)]
async fn the_status_of_a_deleted_engine_is_not_retried() {
    for code in [404, 409] {
        let server = server_with(&engine(SPEC));
        server.fail("patch", "ragengines/status", usize::MAX, Fault::Refusal(code, "it is gone"));
        let controller = Controller::start(&server);
        pass(Duration::from_secs(5)).await;
        let before = of_kind(&writes(&server), "patch", "ragengines/status");
        assert!((1..=6).contains(&before), "{code}: once for each observed change, not {before} times");
        pass(A_WHILE).await;
        assert_eq!(writes(&server), [], "{code}: no retry");
        controller.stop().await;
    }
}

/// A reconcile of a deleted engine must not write the status of a new engine with the same name.
#[tokio::test(start_paused = true)]
async fn a_recreated_engine_gets_its_own_objects() {
    let server = server_with(&engine(SPEC));
    let controller = Controller::start(&server);
    until("Stopped", &server, || is_stopped(&server)).await;
    let uid = |server: &ApiServer| server.get("ragengines", "docs").unwrap()["metadata"]["uid"].clone();
    let first = uid(&server);
    server.delete("ragengines", "docs");
    server.put("ragengines", crate::controller::manifest(&engine(SPEC)));
    assert_ne!(uid(&server), first);
    until("Stopped again", &server, || is_stopped(&server)).await;
    pass(A_WHILE).await;
    for (resource, name) in [("services", "docs"), ("deployments", "docs"), ("configmaps", "docs-settings")] {
        let owner = server.get(resource, name).unwrap()["metadata"]["ownerReferences"][0]["uid"].clone();
        assert_eq!(owner, uid(&server), "{resource}");
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_invalid_spec_changes_nothing() {
    let server = server_with(&engine(SPEC));
    let controller = Controller::start(&server);
    until("Stopped", &server, || is_stopped(&server)).await;
    pass(A_WHILE).await;
    drop(server.calls());
    server.edit("ragengines", "docs", |object| object["spec"]["podTemplate"] = json!({"spec": {"nodeselector": {}}}));
    pass(A_WHILE).await;
    assert_eq!(object_writes(&server), Vec::<String>::new());
    let status = status(&server, "docs");
    assert!(status.conditions.iter().any(|condition| condition.reason == Reason::InvalidSpec), "{status:?}");
    assert_eq!(status.observed_generation, Some(2));
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_with_an_invalid_spec_can_be_stopped() {
    let server = server_with(&engine("{}"));
    let controller = Controller::start(&server);
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    server.edit("ragengines", "docs", |object| {
        object["spec"]["cors"] = json!({"allowedOrigins": ["https://chat.example:x"]});
        object["spec"]["replicas"] = json!(0);
    });
    until("it is stopped", &server, || server.get("deployments", "docs").unwrap()["spec"]["replicas"] == 0).await;
    controller.stop().await;
}

/// What costs something without a server: its nodes, and backups that fail.
#[tokio::test(start_paused = true)]
async fn an_engine_with_an_invalid_spec_that_is_stopped_has_no_nodes_and_no_backups() {
    let backup = "backup: {schedule: '30 2 * * *', s3: {bucket: b}}";
    let server = server_with(&engine(&format!("{{compute: {{instanceType: large}}, {backup}}}")));
    server.has_karpenter(Karpenter::Present);
    let controller = Controller::start_with(&server, Defaults { node_class: Some(node_class()), ..defaults() });
    let suspended = || server.get("cronjobs", "docs-backup").map(|found| found["spec"]["suspend"].clone());
    until("a CronJob", &server, || suspended() == Some(json!(false))).await;
    until("a NodeClaim", &server, || server.names("nodeclaims").len() == 1).await;
    pass(A_WHILE).await;
    server.edit("ragengines", "docs", |object| {
        object["spec"]["cors"] = json!({"allowedOrigins": ["https://chat.example:x"]});
        object["spec"]["replicas"] = json!(0);
    });
    until("no backups", &server, || suspended() == Some(json!(true))).await;
    until("no NodeClaim", &server, || server.names("nodeclaims").is_empty()).await;
    assert_eq!(server.get("deployments", "docs").unwrap()["spec"]["replicas"], 0);
    assert!(server.get("ragengines", "docs").unwrap()["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty));
    pass(A_WHILE).await;
    drop(server.calls());
    pass(LONG).await;
    assert_eq!(object_writes(&server), [""; 0], "nothing is sent again");

    server.edit("ragengines", "docs", |object| {
        object["spec"].as_object_mut().unwrap().remove("cors");
        object["spec"]["replicas"] = json!(1);
    });
    until("backups again", &server, || suspended() == Some(json!(false))).await;
    until("a NodeClaim again", &server, || server.names("nodeclaims").len() == 1).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_with_a_missing_secret_can_be_stopped() {
    let server = server_with(&engine("{inferenceService: {url: 'http://m/v1', accessSecret: llm}}"));
    let controller = Controller::start(&server);
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    server.delete("secrets", "llm");
    server.edit("ragengines", "docs", |object| object["spec"]["replicas"] = json!(0));
    until("it is stopped", &server, || server.get("deployments", "docs").unwrap()["spec"]["replicas"] == 0).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_object_does_not_block_the_others() {
    let server = server_with(&engine("{replicas: 0, storage: {persistentVolume: {size: 1Gi}}}"));
    let controller = Controller::start(&server);
    until("Stopped", &server, || is_stopped(&server)).await;
    server.fail("patch", "persistentvolumeclaims", usize::MAX, Fault::Refusal(403, "it cannot be resized"));
    server.fail("patch", "services", usize::MAX, Fault::Refusal(403, "exceeded quota"));
    server.delete("services", "docs");
    server.edit("ragengines", "docs", |object| {
        object["spec"]["storage"]["persistentVolume"]["size"] = json!("2Gi");
        object["spec"]["compute"] = json!({"labelSelector": {"matchLabels": {"c": "d"}}});
    });
    let nodes = || server.get("deployments", "docs").unwrap()["spec"]["template"]["spec"]["nodeSelector"].clone();
    until("the Deployment", &server, || nodes()["c"] == "d").await;
    let message = || condition(&server, "docs", ConditionType::Degraded).unwrap().message;
    until("both refusals are reported", &server, || {
        message().contains("it cannot be resized") && message().contains("exceeded quota")
    })
    .await;
    // The spec returns to the size of the claim, and there is quota again.
    server.recover();
    server.edit("ragengines", "docs", |object| object["spec"]["storage"]["persistentVolume"]["size"] = json!("1Gi"));
    until("Stopped again", &server, || is_stopped(&server) && server.get("services", "docs").is_some()).await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_being_deleted_is_left_alone() {
    let server = server_with(&engine(SPEC));
    server.edit("ragengines", "docs", |object| object["metadata"]["deletionTimestamp"] = json!("2026-11-22T09:00:00Z"));
    let controller = Controller::start(&server);
    pass(A_WHILE).await;
    assert_eq!(server.calls(), []);
    controller.stop().await;
}

/// An apply keeps list items of other managers. If they conflict with ours, the list is replaced before the apply.
#[tokio::test(start_paused = true)]
async fn a_list_with_conflicting_items_is_replaced() {
    const OK: &str = "patch services docs 200";
    let duplicate = Fault::Refusal(422, "spec.ports[1].name: Duplicate value: http");
    for (refusals, calls) in [
        // Refused, replaced, applied. Then the replacing manager gives up its fields, and a last apply follows.
        (1, &["patch services docs 422", OK, OK, OK, OK][..]),
        // The status that reports the refusal is a change too, so the apply is tried again at once.
        (4, &["patch services docs 422"; 4][..]),
    ] {
        let server = server_with(&engine(SPEC));
        let controller = Controller::start(&server);
        until("Stopped", &server, || is_stopped(&server)).await;
        pass(A_WHILE).await;
        drop(server.calls());
        server.fail("patch", "services", refusals, duplicate.clone());
        server.edit("services", "docs", |object| object["spec"]["ports"][0]["port"] = json!(8080));
        pass(A_MOMENT).await;
        assert_eq!(object_writes(&server), calls);
        assert_eq!(is_stopped(&server), refusals == 1, "a permanent refusal is reported");
        until("the port", &server, || is_stopped(&server)).await;
        assert_eq!(server.get("services", "docs").unwrap()["spec"]["ports"][0]["port"], 80);
        controller.stop().await;
    }
}

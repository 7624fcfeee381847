//! A pod that cannot be as it was asked to be: the one that runs is kept with all that it needs, also when it starts again.

use ragengine_operator_api::{ConditionType, Reason};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Fault, pass};
use crate::controller::{A_WHILE, Controller, condition, server_with, until};
use crate::fixture::engine;

async fn running(spec: &str) -> (ApiServer, Controller) {
    let server = server_with(&engine(spec));
    let controller = Controller::start(&server);
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    pass(A_WHILE).await;
    (server, controller)
}

/// What the pod and those who reach it are made of.
fn parts(server: &ApiServer) -> [Value; 4] {
    let spec = |resource: &str| server.get(resource, "docs").unwrap()["spec"].clone();
    let settings = server.get("configmaps", "docs-settings").unwrap()["data"].clone();
    [settings, spec("services"), spec("networkpolicies"), spec("deployments")]
}

fn set(server: &ApiServer, name: &str, value: Value) {
    server.edit("ragengines", "docs", |object| object["spec"][name] = value);
}

/// A server that starts again would look for the key's file, which is not mounted, and end.
#[tokio::test(start_paused = true)]
async fn a_missing_secret_leaves_a_running_pod_its_settings() {
    let (server, controller) = running("{networkPolicy: {}}").await;
    let before = parts(&server);
    set(&server, "inferenceService", json!({"url": "http://m/v1", "accessSecret": "late"}));
    set(&server, "image", json!({"tag": "0.0.9"}));
    until("SecretMissing", &server, || {
        condition(&server, "docs", ConditionType::Degraded).unwrap().reason == Reason::SecretMissing
    })
    .await;
    pass(A_WHILE).await;
    assert_eq!(parts(&server), before, "it listens where it did");
    server.edit("services", "docs", |service| service["spec"]["selector"]["theirs"] = json!("yes"));
    pass(A_WHILE).await;
    assert_eq!(parts(&server), before, "what others change is put right all the same");
    server.put("secrets", json!({"metadata": {"name": "late"}}));
    until("the settings", &server, || parts(&server)[0].to_string().contains("http://m/v1")).await;
    pass(A_WHILE).await;
    let after = parts(&server);
    assert!((0..4).all(|part| after[part] != before[part]), "all of it is of the other version: {after:?}");
    controller.stop().await;
}

/// What cannot be as it was asked to be keeps nothing else from being done.
#[tokio::test(start_paused = true)]
async fn a_bad_template_keeps_the_pod_with_its_settings_and_nothing_else() {
    let (server, controller) = running("{networkPolicy: {}, storage: {persistentVolume: {size: 1Gi}}}").await;
    let before = parts(&server);
    set(&server, "podTemplate", json!({"spec": {"hostNetwork": true}}));
    set(&server, "retrieval", json!({"maxDistance": 0.5}));
    set(&server, "storage", json!({"persistentVolume": {"size": "2Gi"}}));
    let claim = || server.get("persistentvolumeclaims", "docs-data").unwrap()["spec"]["resources"].clone();
    until("the claim", &server, || claim()["requests"]["storage"] == "2Gi").await;
    pass(A_WHILE).await;
    assert_eq!(parts(&server), before, "the pod is as it was, also when it starts again");
    for (resource, name) in [("services", "docs"), ("configmaps", "docs-settings")] {
        server.delete(resource, name);
        until(resource, &server, || server.get(resource, name).is_some()).await;
    }
    let [_, service, policy, deployment] = parts(&server);
    assert_eq!([service, policy, deployment], before[1..]);
    let told = condition(&server, "docs", ConditionType::Degraded).unwrap();
    assert!(told.reason == Reason::InvalidSpec && told.message.contains("hostNetwork"), "{told:?}");
    set(&server, "replicas", json!(0));
    until("it is stopped", &server, || parts(&server)[3]["replicas"] == 0).await;
    controller.stop().await;
}

/// What bounds the pod is refused, so that it is not changed.
#[tokio::test(start_paused = true)]
async fn a_refused_policy_leaves_a_running_pod_its_settings() {
    let (server, controller) = running("{networkPolicy: {}}").await;
    let before = parts(&server);
    server.fail("patch", "networkpolicies", usize::MAX, Fault::Refusal(403, "exceeded quota"));
    server.edit("ragengines", "docs", |object| {
        object["spec"]["networkPolicy"] = json!({"egress": {"to": []}});
        object["spec"]["retrieval"] = json!({"maxDistance": 0.5});
    });
    until("ObjectRefused", &server, || {
        condition(&server, "docs", ConditionType::Degraded).unwrap().reason == Reason::ObjectRefused
    })
    .await;
    pass(A_WHILE).await;
    assert_eq!(parts(&server), before);
    server.recover();
    until("the settings", &server, || parts(&server)[0].to_string().contains("0.5")).await;
    controller.stop().await;
}

/// Its template names an image, so that it may not know the listener for monitors: also when something else of the template is refused.
#[tokio::test(start_paused = true)]
async fn a_refused_template_still_says_which_server_it_is() {
    let own = |more: Value| {
        let mut template = json!({"spec": {"containers": [{"name": "ragengine", "image": "mine:1"}]}});
        for (name, value) in more.as_object().unwrap() {
            template["spec"][name] = value.clone();
        }
        template
    };
    let (server, controller) = running(&json!({"networkPolicy": {}, "podTemplate": own(json!({}))}).to_string()).await;
    let before = parts(&server);
    for wrong in [json!({"hostNetwork": true}), json!({"nodeselector": {}}), json!({"tolerations": "none"})] {
        set(&server, "podTemplate", own(wrong.clone()));
        until("InvalidSpec", &server, || {
            condition(&server, "docs", ConditionType::Degraded).unwrap().reason == Reason::InvalidSpec
        })
        .await;
        pass(A_WHILE).await;
        assert_eq!(parts(&server), before, "{wrong}");
    }
    server.delete("configmaps", "docs-settings");
    until("the settings", &server, || server.get("configmaps", "docs-settings").is_some()).await;
    assert_eq!(parts(&server), before);
    controller.stop().await;
}

/// Whoever may write a RAGEngine would be that account.
#[tokio::test(start_paused = true)]
async fn the_token_of_a_service_account_is_in_no_pod() {
    for template in [
        json!({"volumes": [{"name": "a", "secret": {"secretName": "robot", "optional": true}}]}),
        json!({"containers": [{"name": "ragengine", "envFrom": [{"secretRef": {"name": "robot"}}]}]}),
    ] {
        let server = server_with(&engine(&json!({"podTemplate": {"spec": template.clone()}}).to_string()));
        let robot = json!({"kubernetes.io/service-account.name": "robot"});
        server.edit("secrets", "robot", |secret| secret["metadata"]["annotations"] = robot);
        let controller = Controller::start(&server);
        until("SecretRefused", &server, || {
            condition(&server, "docs", ConditionType::Degraded).is_some_and(|told| told.reason == Reason::SecretRefused)
        })
        .await;
        let told = condition(&server, "docs", ConditionType::Degraded).unwrap().message;
        assert!(told.contains("Secret robot") && told.contains("ServiceAccount"), "{told}");
        assert!(server.get("deployments", "docs").is_none(), "{template}");
        controller.stop().await;
    }
}

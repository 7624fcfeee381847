//! A pod that cannot be updated to the spec: the running pod keeps everything that it needs, also for a restart.

use ragengine_operator::cluster_issuer::Issuer;
use ragengine_operator::defaults::Defaults;
use ragengine_operator_api::{ConditionType, Reason};
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Fault, pass};
use crate::controller::{A_WHILE, Controller, condition, server_with, until};
use crate::fixture::{defaults, engine, issuer};

async fn running(spec: &str) -> (ApiServer, Controller) {
    let server = server_with(&engine(spec));
    let controller = Controller::start(&server);
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    pass(A_WHILE).await;
    (server, controller)
}

/// The settings, and the specs of the Service, NetworkPolicy and Deployment.
fn parts(server: &ApiServer) -> [Value; 4] {
    let spec = |resource: &str| server.get(resource, "docs").unwrap()["spec"].clone();
    let settings = server.get("configmaps", "docs-settings").unwrap()["data"].clone();
    [settings, spec("services"), spec("networkpolicies"), spec("deployments")]
}

fn set(server: &ApiServer, name: &str, value: Value) {
    server.edit("ragengines", "docs", |object| object["spec"][name] = value);
}

/// With the new settings, a restarted server would exit, because the file of the key is not mounted.
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
    assert_eq!(parts(&server), before, "nothing changes, not even the port");
    server.edit("services", "docs", |service| service["spec"]["selector"]["theirs"] = json!("yes"));
    pass(A_WHILE).await;
    assert_eq!(parts(&server), before, "changes by others are still repaired");
    server.put("secrets", json!({"metadata": {"name": "late"}}));
    until("the settings", &server, || parts(&server)[0].to_string().contains("http://m/v1")).await;
    pass(A_WHILE).await;
    let after = parts(&server);
    assert!((0..4).all(|part| after[part] != before[part]), "everything is updated: {after:?}");
    controller.stop().await;
}

/// A pod that mounts a ConfigMap that does not exist could not be made again, such as on another node.
#[tokio::test(start_paused = true)]
async fn a_pod_that_is_kept_keeps_its_rules_and_keys() {
    let server = server_with(&engine("{replicas: 1, auth: {modes: [jwt]}}"));
    let controller = Controller::start(&server);
    controller.context.cluster_issuer.note(Ok(Issuer::clone(&issuer())));
    until("a Deployment", &server, || server.get("deployments", "docs").is_some()).await;
    pass(A_WHILE).await;
    let handed_over = || server.get("configmaps", "docs-auth").map(|found| found["data"].clone());
    let before = handed_over();
    assert!(before.is_some());
    set(&server, "inferenceService", json!({"url": "http://m/v1", "accessSecret": "late"}));
    set(&server, "auth", json!({}));
    until("SecretMissing", &server, || {
        condition(&server, "docs", ConditionType::Degraded).unwrap().reason == Reason::SecretMissing
    })
    .await;
    pass(A_WHILE).await;
    assert_eq!(handed_over(), before);
    server.put("secrets", json!({"metadata": {"name": "late"}}));
    until("nothing mounts it", &server, || handed_over().is_none()).await;
    assert!(!server.get("deployments", "docs").unwrap().to_string().contains("docs-auth"));
    controller.stop().await;
}

/// An invalid template does not block the other objects.
#[tokio::test(start_paused = true)]
async fn an_invalid_template_holds_back_only_the_pod_and_its_settings() {
    let (server, controller) = running("{networkPolicy: {}, storage: {persistentVolume: {size: 1Gi}}}").await;
    let before = parts(&server);
    set(&server, "podTemplate", json!({"spec": {"hostNetwork": true}}));
    set(&server, "retrieval", json!({"maxDistance": 0.5}));
    set(&server, "storage", json!({"persistentVolume": {"size": "2Gi"}}));
    let claim = || server.get("persistentvolumeclaims", "docs-data").unwrap()["spec"]["resources"].clone();
    until("the claim", &server, || claim()["requests"]["storage"] == "2Gi").await;
    pass(A_WHILE).await;
    assert_eq!(parts(&server), before, "the pod and its settings are unchanged");
    for (resource, name) in [("services", "docs"), ("configmaps", "docs-settings")] {
        server.delete(resource, name);
        until(resource, &server, || server.get(resource, name).is_some()).await;
    }
    let [_, service, policy, deployment] = parts(&server);
    assert_eq!([service, policy, deployment], before[1..]);
    let degraded = condition(&server, "docs", ConditionType::Degraded).unwrap();
    assert!(degraded.reason == Reason::InvalidSpec && degraded.message.contains("hostNetwork"), "{degraded:?}");
    set(&server, "replicas", json!(0));
    until("it is stopped", &server, || parts(&server)[3]["replicas"] == 0).await;
    controller.stop().await;
}

/// The pod is not changed while the NetworkPolicy that limits it is refused.
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

/// The template's image may not support the admin listener, also when another part of the template is refused.
#[tokio::test(start_paused = true)]
async fn the_image_of_a_refused_template_still_counts() {
    let template_with = |more: Value| {
        let mut template = json!({"spec": {"containers": [{"name": "ragengine", "image": "mine:1"}]}});
        for (name, value) in more.as_object().unwrap() {
            template["spec"][name] = value.clone();
        }
        template
    };
    let (server, controller) =
        running(&json!({"networkPolicy": {}, "podTemplate": template_with(json!({}))}).to_string()).await;
    let before = parts(&server);
    for wrong in [json!({"hostNetwork": true}), json!({"nodeselector": {}}), json!({"tolerations": "none"})] {
        set(&server, "podTemplate", template_with(wrong.clone()));
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

/// A user who may write RAGEngines could otherwise act as that ServiceAccount.
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
            condition(&server, "docs", ConditionType::Degraded)
                .is_some_and(|degraded| degraded.reason == Reason::SecretRefused)
        })
        .await;
        let message = condition(&server, "docs", ConditionType::Degraded).unwrap().message;
        assert!(message.contains("Secret robot") && message.contains("ServiceAccount"), "{message}");
        assert!(server.get("deployments", "docs").is_none(), "{template}");
        controller.stop().await;
    }
}

/// All keys of this Secret are mounted, so who may write RAGEngines in the operator's namespace could read them.
#[tokio::test(start_paused = true)]
async fn a_secret_of_the_operator_is_in_no_pod() {
    for secret in ["registry", "sh.helm.release.v1.ragengine.v1"] {
        let server = server_with(&engine(&format!("{{auth: {{modes: [apiKey], apiKeysSecret: {secret}}}}}")));
        let defaults = Defaults {
            operator_namespace: "tests".to_owned(),
            pull_secrets: vec!["registry".to_owned()],
            ..defaults()
        };
        let controller = Controller::start_with(&server, defaults);
        controller.context.cluster_issuer.note(Ok(Issuer::clone(&issuer())));
        until("SecretRefused", &server, || {
            condition(&server, "docs", ConditionType::Degraded)
                .is_some_and(|degraded| degraded.reason == Reason::SecretRefused)
        })
        .await;
        pass(A_WHILE).await;
        let message = condition(&server, "docs", ConditionType::Degraded).unwrap().message;
        let expected = format!("Secret {secret} must not be used: it belongs to the operator");
        assert!(message.starts_with(&expected), "{message}");
        assert!(server.get("deployments", "docs").is_none(), "{secret}");
        controller.stop().await;
    }
}

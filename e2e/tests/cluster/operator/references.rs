//! Secrets and ConfigMaps that a specification names: created late, changed, or without a key.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use ragengine_e2e::Error;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_operator_api::Reason;
use serde_json::{Value, json};

#[tokio::test]
async fn a_late_secret_is_waited_for_and_a_changed_one_replaces_the_pod() {
    in_namespace("late-secret", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        // The endpoint does not have to exist, because it gets no request.
        let spec = json!({"inferenceService": {"url": "http://nowhere.invalid/v1", "accessSecret": "late"}});
        let engine = Engine::apply(namespace, "docs", &spec).await?;
        let message = engine.until_not_ready(Reason::SecretMissing).await?;
        assert!(message.contains("Secret late does not exist"), "{message}");
        assert!(!namespace.has::<Deployment>("docs").await?);

        secret(namespace, "late", &json!({"ANOTHER_KEY": "k"})).await?;
        let message = engine.until_not_ready(Reason::SecretKeyMissing).await?;
        assert!(message.contains("LLM_ACCESS_SECRET"), "{message}");

        secret(namespace, "late", &json!({"LLM_ACCESS_SECRET": "k"})).await?;
        let ready = engine.ready_pod().await?;
        secret(namespace, "late", &json!({"LLM_ACCESS_SECRET": "another"})).await?;
        let rolled = engine.pod_that("the changed Secret rolls the pod", |pod| {
            ragengine_e2e::pod::is_ready(pod) && pod.metadata.uid != ready.metadata.uid
        });
        let rolled = rolled.await?;

        // A deleted Secret is reported, and the pod keeps running.
        namespace.delete::<Secret>("late").await?;
        engine.until_not_ready(Reason::SecretMissing).await?;
        assert_eq!(engine.ready_pod().await?.metadata.uid, rolled.metadata.uid);
        Ok(())
    })
    .await;
}

async fn secret(namespace: &Namespace, name: &str, data: &Value) -> Result<Secret, Error> {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    namespace.apply(name, &secret).await
}

#[tokio::test]
async fn a_config_map_of_the_pod_template_is_waited_for_and_a_changed_one_replaces_the_pod() {
    in_namespace("config-map", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let from = json!([{"configMapRef": {"name": "extra"}}]);
        let container = json!({"name": "ragengine", "envFrom": from});
        let optional = json!({"name": "sometimes", "configMap": {"name": "not-there", "optional": true}});
        let pod = json!({"spec": {"containers": [container], "volumes": [optional]}});
        let spec = json!({"replicas": 0, "podTemplate": pod});
        let engine = Engine::apply(namespace, "docs", &spec).await?;
        let message = engine.until_not_ready(Reason::ConfigMapMissing).await?;
        assert!(message.contains("ConfigMap extra does not exist") && !message.contains("not-there"), "{message}");

        config_map(namespace, "debug").await?;
        engine.until_stopped().await?;
        let before = engine.deployment().await?;
        config_map(namespace, "info").await?;
        let wanted = "the changed ConfigMap changes the pod's template";
        namespace
            .until::<Deployment, _>("docs", wanted, |deployment| {
                let template = |deployment: &Deployment| deployment.spec.clone().map(|spec| spec.template);
                if template(deployment) != template(&before) { Ok(()) } else { Err("the old template".to_owned()) }
            })
            .await
    })
    .await;
}

async fn config_map(namespace: &Namespace, level: &str) -> Result<ConfigMap, Error> {
    let data = json!({"RUST_LOG": level});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extra"}, "data": data});
    namespace.apply("extra", &object).await
}

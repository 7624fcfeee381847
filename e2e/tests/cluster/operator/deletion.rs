//! The objects that are deleted with a RAGEngine, and those that stay.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount};
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_e2e::server::documents;
use ragengine_e2e::{Error, pod};
use ragengine_operator_api::{RagEngine, Reason};
use serde_json::json;

#[tokio::test]
async fn a_recreated_engine_finds_its_claim_and_its_documents() {
    in_namespace("deletion", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let spec = json!({"auth": {"writes": "open"}, "storage": {"persistentVolume": {"size": "256Mi"}}});
        let engine = Engine::start(namespace, "docs", &spec).await?;
        engine.post("/index", &documents("sky", &[("moon", "The moon is grey.")])).await?.ok()?;
        let claim: PersistentVolumeClaim = namespace.get("docs-data").await?;
        namespace.delete::<RagEngine>("docs").await?;
        until_owned_objects_are_gone(namespace, "docs").await?;
        assert_eq!(namespace.get::<PersistentVolumeClaim>("docs-data").await?.metadata.uid, claim.metadata.uid);

        let engine = Engine::start(namespace, "docs", &spec).await?;
        assert_eq!(engine.get("/indexes/sky").await?.ok()?["documents"], 1);
        let with_it = json!({"persistentVolume": {"size": "256Mi"}, "deletionPolicy": "Delete"});
        engine.set(&json!({"auth": {"writes": "open"}, "storage": with_it})).await?;
        engine.until_status("the claim has an owner", |_| true).await?;
        namespace.delete::<RagEngine>("docs").await?;
        until_owned_objects_are_gone(namespace, "docs").await?;
        namespace.until_gone::<PersistentVolumeClaim>("docs-data").await
    })
    .await;
}

#[tokio::test]
async fn an_engine_that_is_deleted_half_made_leaves_only_its_claim() {
    in_namespace("half-made", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let spec = json!({"storage": {"persistentVolume": {"size": "256Mi"}}});
        // Deleted as soon as the first of its objects exists.
        Engine::apply(namespace, "early", &spec).await?;
        namespace.until::<ConfigMap, _>("early-settings", "the first object is there", |_| Ok(())).await?;
        namespace.delete::<RagEngine>("early").await?;
        until_owned_objects_are_gone(namespace, "early").await?;
        // Deleted while it waits for a Secret.
        let waits = json!({"inferenceService": {"url": "http://nowhere.invalid/v1", "accessSecret": "none"}});
        let engine = Engine::apply(namespace, "waits", &waits).await?;
        engine.until_not_ready(Reason::SecretMissing).await?;
        namespace.delete::<RagEngine>("waits").await?;
        until_owned_objects_are_gone(namespace, "waits").await?;
        // Deleted while its pod starts.
        let engine = Engine::apply(namespace, "starts", &spec).await?;
        engine.pod_that("the pod is there", |_| true).await?;
        namespace.delete::<RagEngine>("starts").await?;
        until_owned_objects_are_gone(namespace, "starts").await?;
        assert!(namespace.has::<PersistentVolumeClaim>("starts-data").await?);
        Ok(())
    })
    .await;
}

async fn until_owned_objects_are_gone(namespace: &Namespace, name: &str) -> Result<(), Error> {
    namespace.until_gone::<RagEngine>(name).await?;
    namespace.until_gone::<Deployment>(name).await?;
    namespace.until_gone::<Service>(name).await?;
    namespace.until_gone::<ConfigMap>(&format!("{name}-settings")).await?;
    namespace.until_gone::<ServiceAccount>(name).await?;
    namespace.until_gone::<Secret>(&format!("{name}-write")).await?;
    let engine = Engine::named(namespace, name);
    let its = kube::api::ListParams::default().labels(&format!("app.kubernetes.io/instance={name}"));
    ragengine_e2e::wait::until("its pods are gone", async || {
        let pods = engine.pods().list(&its).await.map_err(|error| error.to_string())?.items;
        if pods.is_empty() { Ok(()) } else { Err(pods.iter().map(pod::describe).collect::<Vec<_>>().join(", ")) }
    })
    .await
}

//! The operator restores objects that others change or delete, and removes objects that are no longer needed.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use ragengine_e2e::Error;
use ragengine_e2e::engine::Engine;
use ragengine_e2e::namespace::{Namespace, Object, in_namespace};
use ragengine_e2e::operator::Operator;
use serde_json::{Value, json};

const NOTE: &str = "example.com/note";

#[tokio::test]
async fn changed_and_deleted_objects_are_restored() {
    in_namespace("repair", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        // The engine is stopped, because only objects are tested.
        let spec = json!({"replicas": 0, "networkPolicy": {}, "storage": {"persistentVolume": {"size": "1Gi"}}});
        let engine = Engine::apply(namespace, "docs", &spec).await?;
        engine.until_status("all objects are created", |_| true).await?;

        let container = |image: &str| json!({"name": "ragengine", "image": image});
        let pod = json!({"spec": {"containers": [container("registry.example/other:1")]}});
        drift::<Deployment>(namespace, "docs", &json!({"spec": {"template": pod}}), "/spec/template/spec").await?;
        drift::<Deployment>(namespace, "docs", &json!({"spec": {"replicas": 3}}), "/spec/replicas").await?;
        let port = json!({"ports": [{"name": "http", "port": 8080, "targetPort": 1}]});
        drift::<Service>(namespace, "docs", &json!({"spec": port}), "/spec/ports").await?;
        let selector = json!({"spec": {"selector": {"app.kubernetes.io/instance": "other"}}});
        drift::<Service>(namespace, "docs", &selector, "/spec/selector").await?;
        // A selector is replaced as a whole, because an additional label would select something else.
        let more = json!({"example.com/more": "label"});
        drift::<Service>(namespace, "docs", &json!({"spec": {"selector": more}}), "/spec/selector").await?;
        let selector = json!({"spec": {"podSelector": {"matchLabels": more}}});
        drift::<NetworkPolicy>(namespace, "docs", &selector, "/spec/podSelector").await?;
        owned_once(&namespace.get::<Service>("docs").await?);
        let settings = json!({"data": {"settings.yaml": "listen: nowhere"}});
        drift::<ConfigMap>(namespace, "docs-settings", &settings, "/data").await?;
        let mounted = json!({"automountServiceAccountToken": true});
        drift::<ServiceAccount>(namespace, "docs", &mounted, "/automountServiceAccountToken").await?;
        drift::<NetworkPolicy>(namespace, "docs", &json!({"spec": {"ingress": null}}), "/spec/ingress").await?;
        let label = json!({"metadata": {"labels": {"app.kubernetes.io/instance": null}}});
        for_each_object(namespace, &label).await?;
        deleted_objects_are_created_again(namespace).await
    })
    .await;
}

/// Fails if two field managers own the same field: a field with two owners stays when one of them removes it.
fn owned_once<K: Object>(object: &K) {
    let entries = object.meta().managed_fields.iter().flatten();
    let ours = entries.filter(|entry| {
        entry.manager.as_deref().is_some_and(|manager| manager.starts_with("ragengine-operator"))
            && entry.subresource.is_none()
    });
    let operations: Vec<_> = ours.map(|entry| entry.operation.clone().unwrap_or_default()).collect();
    assert_eq!(operations, ["Apply"], "{:?}", object.meta().managed_fields);
}

/// Changes an object that has a note of the user. The operator undoes the change and keeps the note.
async fn drift<K: Object>(namespace: &Namespace, name: &str, patch: &Value, place: &str) -> Result<(), Error> {
    let at = |object: &K| serde_json::to_value(object).unwrap().pointer(place).cloned();
    let before = at(&namespace.get::<K>(name).await?);
    namespace.change::<K>(name, &json!({"metadata": {"annotations": {NOTE: "mine"}}})).await?;
    let drifted = namespace.change::<K>(name, patch).await?;
    assert_ne!(at(&drifted), before, "{place} of {name} did not change");
    let wanted = format!("{place} of {} {name} is repaired", K::kind(&()));
    let repaired = namespace.until::<K, _>(name, &wanted, |object| {
        let now = at(object);
        if now == before { Ok(object.clone()) } else { Err(format!("{now:?}")) }
    });
    let repaired = repaired.await?;
    assert_eq!(repaired.meta().annotations.as_ref().unwrap()[NOTE], "mine", "{name}");
    Ok(())
}

/// Changes a label that the operator selects objects by.
async fn for_each_object(namespace: &Namespace, label: &Value) -> Result<(), Error> {
    let place = "/metadata/labels";
    drift::<Deployment>(namespace, "docs", label, place).await?;
    drift::<Service>(namespace, "docs", label, place).await?;
    drift::<ConfigMap>(namespace, "docs-settings", label, place).await?;
    drift::<ServiceAccount>(namespace, "docs", label, place).await?;
    drift::<NetworkPolicy>(namespace, "docs", label, place).await
}

async fn deleted_objects_are_created_again(namespace: &Namespace) -> Result<(), Error> {
    let token: Secret = namespace.get("docs-write").await?;
    delete_and_await_new::<Deployment>(namespace, "docs").await?;
    delete_and_await_new::<Service>(namespace, "docs").await?;
    delete_and_await_new::<ConfigMap>(namespace, "docs-settings").await?;
    delete_and_await_new::<ServiceAccount>(namespace, "docs").await?;
    delete_and_await_new::<NetworkPolicy>(namespace, "docs").await?;
    delete_and_await_new::<PersistentVolumeClaim>(namespace, "docs-data").await?;
    let made = delete_and_await_new::<Secret>(namespace, "docs-write").await?;
    assert_ne!(made.data, token.data, "a deleted token is replaced by a new one");
    Ok(())
}

async fn delete_and_await_new<K: Object>(namespace: &Namespace, name: &str) -> Result<K, Error> {
    let before = namespace.get::<K>(name).await?;
    namespace.delete::<K>(name).await?;
    let wanted = format!("{} {name} is created again", K::kind(&()));
    namespace
        .until::<K, _>(name, &wanted, |object| {
            let is_old = object.meta().uid == before.meta().uid;
            if is_old { Err("the old object".to_owned()) } else { Ok(object.clone()) }
        })
        .await
}

#[tokio::test]
async fn objects_that_are_no_longer_needed_are_removed_and_those_of_users_stay() {
    in_namespace("removed", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        let asked = json!({"replicas": 0, "networkPolicy": {}, "storage": {"persistentVolume": {"size": "1Gi"}}});
        let engine = Engine::apply(namespace, "docs", &asked).await?;
        engine.until_status("all objects are created", |_| true).await?;
        let policy = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "of-the-user"},
            "spec": {"podSelector": {"matchLabels": {"app.kubernetes.io/instance": "docs"}}},
        });
        namespace.apply::<NetworkPolicy>("of-the-user", &policy).await?;
        assert!(namespace.has::<NetworkPolicy>("docs").await? && namespace.has::<Secret>("docs-write").await?);

        let storage = json!({"persistentVolume": {"size": "1Gi"}});
        engine.set(&json!({"replicas": 0, "auth": {"writes": "open"}, "storage": storage})).await?;
        namespace.until_gone::<NetworkPolicy>("docs").await?;
        // The operator may not delete Secrets. This one is deleted with the engine.
        assert!(namespace.has::<Secret>("docs-write").await?);
        assert!(namespace.has::<NetworkPolicy>("of-the-user").await?);
        assert!(namespace.has::<PersistentVolumeClaim>("docs-data").await?);
        Ok(())
    })
    .await;
}

//! A change of a field changes the expected objects, and no others.

mod table;

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use ragengine_e2e::Error;
use ragengine_e2e::engine::{Engine, condition};
use ragengine_e2e::namespace::{Namespace, Object, in_namespace};
use ragengine_e2e::operator::Operator;
use ragengine_operator_api::{ConditionType, RagEngine, Reason, rag_engine_definition};
use serde_json::{Value, json};
use table::{Base, Effect, UNCHANGEABLE, bases};

#[tokio::test]
async fn a_change_of_a_field_changes_the_expected_objects() {
    assert_every_field_is_in(&bases());
    in_namespace("fields", async |namespace| {
        let _operator = Operator::install(namespace).await?;
        for name in ["key-a", "key-b"] {
            let keys = json!({"LLM_ACCESS_SECRET": "a", "EMBEDDING_ACCESS_SECRET": "b", "HF_TOKEN": "c"});
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": keys});
            namespace.apply::<Secret>(name, &secret).await?;
        }
        for base in bases() {
            check(namespace, &base).await?;
        }
        Ok(())
    })
    .await;
}

fn assert_every_field_is_in(bases: &[Base]) {
    let mut listed: BTreeSet<&str> =
        bases.iter().flat_map(|base| base.fields.iter().map(|(field, _, _)| field.as_str())).collect();
    listed.extend(UNCHANGEABLE);
    // An entry for a list itself covers its empty element.
    listed.remove("networkPolicy.from");
    let definition = serde_json::to_value(rag_engine_definition()).unwrap();
    let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut fields = BTreeSet::new();
    collect_fields(schema, "", &mut fields);
    assert_eq!(listed, fields.iter().map(String::as_str).collect::<BTreeSet<_>>());
}

fn collect_fields(schema: &Value, path: &str, fields: &mut BTreeSet<String>) {
    let items = &schema["items"]["properties"];
    let below = schema["properties"].as_object().or(items.as_object());
    let Some(below) = below else {
        fields.insert(path.to_owned());
        return;
    };
    for (name, field) in below {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect_fields(field, &path, fields);
    }
}

async fn check(namespace: &Namespace, base: &Base) -> Result<(), Error> {
    let mut spec = base.spec.clone();
    // Without replicas, changes are visible before anything starts.
    spec["replicas"] = json!(0);
    let engine = Engine::apply(namespace, base.name, &spec).await?;
    engine.until_status("the first specification is reconciled", |_| true).await?;
    for (field, value, expected) in &base.fields {
        let before = State::read(namespace, base.name).await?;
        put(&mut spec, field, value);
        engine.set(&spec).await?;
        let now = engine.until_status(&format!("{field} is reconciled"), |_| true).await?;
        let after = State::read(namespace, base.name).await?;
        assert_changed(&format!("{}: {field}", base.name), *expected, &before, &after, &now);
    }
    namespace.delete::<RagEngine>(base.name).await
}

/// Sets the field at a path. A list is set as a whole, under its own name.
fn put(spec: &mut Value, path: &str, value: &Value) {
    let list = [".from", ".to", ".filterRules", ".jwt", ".parentRefs"].iter().find_map(|name| {
        let (above, _) = path.split_once(&format!("{name}."))?;
        Some(format!("{above}{name}"))
    });
    let path = list.as_deref().unwrap_or(path);
    let place = path.split('.').fold(spec, |place, name| {
        if place.is_null() {
            *place = json!({});
        }
        &mut place[name]
    });
    *place = value.clone();
}

/// The objects of an engine, as far as the test compares them.
#[derive(Debug, Clone, PartialEq)]
struct State {
    template: Value,
    replicas: Option<i32>,
    generation: Option<i64>,
    settings: Value,
    token: Value,
    network_policy: Value,
    claim: Value,
    service: Value,
}

impl State {
    async fn read(namespace: &Namespace, name: &str) -> Result<Self, Error> {
        let deployment: Deployment = namespace.get(name).await?;
        let spec = deployment.spec.unwrap();
        let settings: ConfigMap = namespace.get(&format!("{name}-settings")).await?;
        Ok(Self {
            template: serde_json::to_value(spec.template).unwrap(),
            replicas: spec.replicas,
            generation: deployment.metadata.generation,
            settings: json!(settings.data),
            token: version::<Secret>(namespace, &format!("{name}-write")).await?,
            network_policy: json!([
                version::<NetworkPolicy>(namespace, name).await?,
                version::<NetworkPolicy>(namespace, &format!("{name}.sync")).await?,
            ]),
            claim: owned::<PersistentVolumeClaim>(namespace, &format!("{name}-data")).await?,
            service: version::<Service>(namespace, name).await?,
        })
    }
}

/// The resource version. Null if the object does not exist.
async fn version<K: Object>(namespace: &Namespace, name: &str) -> Result<Value, Error> {
    if !namespace.has::<K>(name).await? {
        return Ok(Value::Null);
    }
    let object = namespace.get::<K>(name).await?;
    Ok(json!([object.meta().uid, object.meta().resource_version]))
}

/// Without the status, which changes by itself.
async fn owned<K: Object>(namespace: &Namespace, name: &str) -> Result<Value, Error> {
    if !namespace.has::<K>(name).await? {
        return Ok(Value::Null);
    }
    let object = namespace.get::<K>(name).await?;
    Ok(json!([object.meta().uid, object.meta().owner_references]))
}

fn assert_changed(field: &str, expected: Effect, before: &State, after: &State, engine: &RagEngine) {
    let rolls = matches!(expected, Effect::Settings | Effect::Ports | Effect::Pod);
    assert_eq!(before.template != after.template, rolls, "{field}: {before:?} {after:?}");
    let deployment_changes = rolls || expected == Effect::Replicas;
    assert_eq!(before.generation != after.generation, deployment_changes, "{field}: {before:?} {after:?}");
    assert_eq!(before.replicas != after.replicas, expected == Effect::Replicas, "{field}: {before:?} {after:?}");
    let settings_change = matches!(expected, Effect::Settings | Effect::Ports);
    assert_eq!(before.settings != after.settings, settings_change, "{field}: {before:?} {after:?}");
    assert_eq!(before.token, after.token, "{field}: the Secret stays until the engine is deleted");
    let policy_changes = expected == Effect::NetworkPolicy;
    assert_eq!(before.network_policy != after.network_policy, policy_changes, "{field}: {before:?} {after:?}");
    assert_eq!(before.claim != after.claim, expected == Effect::Claim, "{field}: {before:?} {after:?}");
    assert_eq!(before.service != after.service, expected == Effect::Ports, "{field}: {before:?} {after:?}");
    let ready = condition(engine, ConditionType::Ready).unwrap();
    assert_eq!(ready.reason == Reason::ObjectRefused, expected == Effect::Refused, "{field}: {ready:?}");
}

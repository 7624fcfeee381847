//! From YAML to the objects that are applied.

use std::collections::BTreeSet;

use ragengine_operator::rag_engine::build::{Desired, build, secret};
use serde_json::{Map, Value, json};

use crate::fixture::{all_there, built, claim, defaults, engine, fixture, fixtures, valid};

/// The objects as they are sent, by kind.
fn sent(desired: &Desired) -> Map<String, Value> {
    let Value::Object(objects) = json!(desired) else { unreachable!() };
    objects.into_iter().filter(|(_, object)| !object.is_null()).collect()
}

#[test]
fn the_objects_of_every_fixture() {
    for (name, engine) in fixtures() {
        insta::assert_yaml_snapshot!(name, sent(&built(&engine)));
    }
}

/// Collects the empty fields. The API server would drop them, or they would take ownership from others for nothing.
fn empty_fields(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, field)| empty_fields(&format!("{path}.{name}"), field, found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().for_each(|item| empty_fields(&format!("{path}[]"), item, found));
        }
        Value::Null | Value::Object(_) | Value::Array(_) => found.push(path.to_owned()),
        Value::String(text) if text.is_empty() => found.push(path.to_owned()),
        _ => {}
    }
}

#[test]
fn only_empty_fields_with_a_meaning_are_sent() {
    const ALLOWED: [&str; 9] = [
        // The core group.
        "httpRoute.spec.rules[].backendRefs[].group",
        // An empty variable stops the image's variable from overriding the settings.
        "deployment.spec.template.spec.containers[].env[].value",
        "deployment.spec.template.spec.volumes[].emptyDir",
        // An empty selector selects all pods or all namespaces.
        "networkPolicy.spec.ingress[].from[].podSelector",
        "networkPolicy.spec.ingress[].from[].namespaceSelector",
        "networkPolicy.spec.egress[].to[].podSelector",
        "networkPolicy.spec.egress[].to[].namespaceSelector",
        "syncNetworkPolicy.spec.egress[].to[].podSelector",
        "syncNetworkPolicy.spec.egress[].to[].namespaceSelector",
    ];
    for (name, engine) in fixtures() {
        let mut found = Vec::new();
        for (kind, object) in sent(&built(&engine)) {
            empty_fields(&kind, &object, &mut found);
        }
        found.retain(|path| !ALLOWED.contains(&path.as_str()));
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn the_server_container_is_restricted_and_has_no_token_with_every_template() {
    for (name, engine) in fixtures() {
        let pod = built(&engine).deployment.unwrap().spec.unwrap().template.spec.unwrap();
        assert_eq!(pod.automount_service_account_token, Some(false), "{name}");
        let security = pod.security_context.unwrap();
        assert_eq!(security.run_as_non_root, Some(true), "{name}");
        assert_eq!(security.seccomp_profile.unwrap().type_, "RuntimeDefault", "{name}");
        let server = pod.containers.into_iter().find(|container| container.name == "ragengine").unwrap();
        let security = server.security_context.unwrap();
        assert_eq!(security.allow_privilege_escalation, Some(false), "{name}");
        assert_eq!(security.read_only_root_filesystem, Some(true), "{name}");
        assert_eq!(security.capabilities.unwrap().drop, Some(vec!["ALL".to_owned()]), "{name}");
        for volume in pod.volumes.unwrap() {
            assert!(volume.host_path.is_none(), "{name}: {}", volume.name);
        }
    }
}

#[test]
fn selectors_match_the_pod_labels_with_every_template() {
    for (name, engine) in fixtures() {
        let desired = built(&engine);
        let deployment = desired.deployment.unwrap().spec.unwrap();
        let labels = deployment.template.metadata.unwrap().labels.unwrap();
        for selector in [deployment.selector.match_labels.unwrap(), desired.service.spec.unwrap().selector.unwrap()] {
            assert!(selector.iter().all(|(label, value)| labels.get(label) == Some(value)), "{name}: {labels:?}");
        }
        assert_eq!(labels["app.kubernetes.io/managed-by"], "ragengine-operator", "{name}");
    }
}

/// The ports of the probes, the target port of the admin service port, and whether the settings set `adminListen`.
fn monitored(spec: &str) -> (BTreeSet<String>, Value, bool) {
    let sent = Value::Object(sent(&built(&engine(spec))));
    let server = &sent["deployment"]["spec"]["template"]["spec"]["containers"][0];
    let probes = ["startupProbe", "livenessProbe", "readinessProbe"];
    let probed = probes.map(|probe| server[probe]["httpGet"]["port"].as_str().unwrap().to_owned());
    let ports = sent["service"]["spec"]["ports"].as_array().unwrap();
    let admin = ports.iter().find(|port| port["name"] == "admin").unwrap();
    assert_eq!(admin["port"], 5001);
    let file = sent["configMap"]["data"]["settings.yaml"].as_str().unwrap();
    (probed.into(), admin["targetPort"].clone(), file.contains("adminListen: \"[::]:5001\"\n"))
}

#[test]
fn a_server_of_another_version_gets_no_unknown_setting() {
    let own =
        ["{}", "{image: {tag: ''}}", "{image: {tag: 0.1.0}}", "{image: {repository: registry.example/ragengine}}"];
    for spec in own {
        assert_eq!(monitored(spec), (["admin".to_owned()].into(), "admin".into(), true), "{spec}");
    }
    let other = ["{image: {tag: 0.0.9}}", "{podTemplate: {spec: {containers: [{name: ragengine, image: 'mine:1'}]}}}"];
    for spec in other {
        assert_eq!(monitored(spec), (["http".to_owned()].into(), "http".into(), false), "{spec}");
    }
}

#[test]
fn the_node_selectors_of_spec_and_template_are_merged() {
    let pod = built(&fixture("pod_template")).deployment.unwrap().spec.unwrap().template.spec.unwrap();
    let labels = pod.node_selector.unwrap();
    assert_eq!((labels["disk"].as_str(), labels["zone"].as_str()), ("ssd", "a"));
}

#[test]
fn the_secret_of_the_write_token_has_the_generated_token() {
    let token = built(&engine("{}")).write_token.unwrap();
    let sent = json!(secret(token.clone(), "generated".to_owned()));
    assert_eq!(sent["metadata"], json!(token.metadata));
    assert_eq!((&sent["type"], &sent["data"]), (&json!("Opaque"), &json!({"token": "Z2VuZXJhdGVk"})));
    assert!(built(&engine("{auth: {writes: open}}")).write_token.is_none());
}

#[test]
fn a_claim_never_shrinks() {
    let validated = valid(&engine("{storage: {persistentVolume: {size: 10Gi}}}"));
    for (live, expected) in [("5Gi", "10Gi"), ("10240Mi", "10Gi"), ("20Gi", "20Gi"), ("10G", "10Gi")] {
        let observed =
            ragengine_operator::rag_engine::observe::Observed { claim: Some(claim(live)), ..all_there(&validated) };
        let built = build(&validated, &observed, &defaults()).unwrap().claim.unwrap();
        assert_eq!(built.spec.unwrap().resources.unwrap().requests.unwrap()["storage"].0, expected, "{live}");
    }
}

#[test]
fn a_claim_is_deleted_with_its_engine_only_under_the_delete_policy() {
    for (policy, owners) in [("Retain", 0), ("Delete", 1)] {
        let engine = engine(&format!("{{storage: {{persistentVolume: {{size: 1Gi}}, deletionPolicy: {policy}}}}}"));
        let claim = built(&engine).claim.unwrap();
        assert_eq!(claim.metadata.owner_references.unwrap_or_default().len(), owners, "{policy}");
    }
    assert!(built(&fixture("older_storage")).claim.is_none(), "a claim that exists is not touched");
}

#[test]
fn a_missing_reference_withholds_only_the_deployment() {
    let validated = valid(&fixture("references"));
    for missing in 0..validated.references.len() {
        let mut observed = all_there(&validated);
        observed.references[missing].version = None;
        let desired = build(&validated, &observed, &defaults()).unwrap();
        let reference = &validated.references[missing];
        assert_eq!(desired.deployment.is_some(), reference.is_optional, "{reference}");
    }
    // These have the names of our objects, but another kind, so they count as references.
    let volumes = "[{name: a, secret: {secretName: docs-settings}}, {name: b, configMap: {name: docs-write}}]";
    let namesakes = valid(&engine(&format!("{{podTemplate: {{spec: {{volumes: {volumes}}}}}}}"))).references;
    assert_eq!(
        namesakes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["Secret docs-settings", "ConfigMap docs-write"]
    );
    let names: Vec<_> = validated.references.iter().map(ToString::to_string).collect();
    insta::assert_yaml_snapshot!("what_is_referred_to", names);
}

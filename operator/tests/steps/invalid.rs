//! Errors that the operator's validation finds beyond the rules of the CRD.

use ragengine_operator::defaults::{Defaults, NodeLimits};
use ragengine_operator::rag_engine::validate::validate;
use ragengine_operator_api::RAG_ENGINE_FINALIZER;

use crate::fixture::{defaults, engine, node_class};

fn errors(spec: &str) -> Vec<String> {
    match validate(&engine(spec), &defaults()) {
        Err(invalid) => invalid.0,
        Ok(validated) => validated.wrong_template.map(|wrong| wrong.0).unwrap_or_default(),
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let found = errors(
        "
        retrieval:
          minTopK: 0
          contextTokenRatio: 0.9
          maxDistance: 5.0
          tokensPerChunk: 0
          filterRules: [{filter: {a: {$most: 1}}}]
        inferenceService: {url: 'ftp://host', contextWindowSize: 0, timeoutSeconds: 0}
        embedding: {remote: {url: host, model: m, batchSize: 0}}
        podTemplate:
          spec:
            tolerrations: []
            containers:
              - {name: ragengine, imge: x, env: [{name: A, valeu: b}]}
              - {image: nameless}
            initContainers: [{image: nameless}]
        ",
    );
    insta::assert_yaml_snapshot!("everything_that_is_wrong", found);
}

#[test]
fn a_value_of_the_wrong_type_is_reported() {
    let found: Vec<_> = [
        "{podTemplate: {spec: {hostNetwork: 'yes'}}}",
        "{podTemplate: {spec: {containers: {name: ragengine}}}}",
        "{podTemplate: {spec: {containers: [{name: ragengine, env: {A: b}}]}}}",
        "{podTemplate: {spec: {containers: [{name: ragengine, env: [{name: A, value: 1}]}]}}}",
        "{podTemplate: {spec: {volumes: [{name: a, secret: b}]}}}",
    ]
    .into_iter()
    .flat_map(errors)
    .collect();
    insta::assert_yaml_snapshot!("wrong_types", found);
}

#[test]
fn an_invalid_origin_is_reported() {
    let found = errors("{cors: {allowedOrigins: ['https://chat.example:x']}}");
    assert!(matches!(&found[..], [only] if only.starts_with("cors.allowedOrigins: ")), "{found:?}");
}

/// The schema of a field without a type lets these pass.
#[test]
fn a_threshold_of_the_wrong_type_is_reported() {
    for wrong in ["true", "{}", "[0.1]", "often"] {
        let found = errors(&format!("{{interactions: {{overlapThreshold: {wrong}}}}}"));
        let expected = "interactions.overlapThreshold: must be a number from 0 to 1, such as 0.1, or adaptive";
        assert_eq!(found, [expected], "{wrong}");
    }
    assert_eq!(errors("{interactions: {overlapThreshold: 0.2}}"), [""; 0]);
}

/// The definition counts characters and the server bytes, and an older definition let guardrails without a policy pass.
#[test]
fn what_the_definition_lets_pass_is_reported() {
    let long = format!("{{auth: {{modes: [jwt], defaultAccess: {{write: ['user:{}']}}}}}}", "\u{10400}".repeat(65));
    for (spec, expected) in [
        (long.as_str(), "auth.defaultAccess.write: "),
        ("{auth: {modes: [jwt], defaultAccess: {read: [staff]}}}", "auth.defaultAccess.read: "),
        ("{auth: {defaultAccess: {read: ['group:staff']}}}", "auth.modes: is empty"),
        ("{guardrails: {enabled: true}}", "guardrails.configMapRef: "),
    ] {
        let found = errors(spec);
        assert!(matches!(&found[..], [only] if only.starts_with(expected)), "{spec}: {found:?}");
    }
}

/// The annotation of a Secret names hosts, without the user of an address.
#[test]
fn every_secret_is_sent_to_the_host_of_its_address() {
    for (spec, host) in [
        ("{inferenceService: {url: 'http://l:8000/v1', accessSecret: s}}", Some("l:8000")),
        ("{inferenceService: {accessSecret: s}}", None),
        ("{embedding: {remote: {url: 'http://e/v1', model: m, accessSecret: s}}}", Some("e")),
        ("{embedding: {local: {modelAccessSecret: s}}}", Some("huggingface.co")),
        ("{rerank: {backend: endpoint, url: 'http://r:8080/rerank', accessSecret: s}}", Some("r:8080")),
        ("{rerank: {backend: local, local: {hubUrl: 'http://h', modelAccessSecret: s}}}", Some("h")),
        (
            "{postgres: {url: 'postgres://rag%40x@db.svc:5432/rag?sslmode=require', accessSecret: s}}",
            Some("db.svc:5432"),
        ),
        ("{postgres: {url: 'postgres://db', accessSecret: s}}", Some("db")),
        ("{redis: {url: 'redis://cache.svc', accessSecret: s}}", Some("cache.svc")),
        ("{redis: {url: 'rediss://rag@cache.svc:6379/1', accessSecret: s}}", Some("cache.svc:6379")),
        ("{events: {url: 'amqp://rabbitmq.svc', accessSecret: s}}", Some("rabbitmq.svc")),
        ("{events: {url: 'amqps://rag@rabbitmq.svc:5671/search', accessSecret: s}}", Some("rabbitmq.svc:5671")),
    ] {
        let sent = validate(&engine(spec), &defaults()).unwrap().sent;
        assert!(matches!(&sent[..], [only] if only.name == "s" && only.host.as_deref() == host), "{spec}: {sent:?}");
    }
}

/// Without a node class the operator makes no nodes, and labels only select those that exist.
#[test]
fn the_nodes_that_are_made_are_limited() {
    let limits =
        |types: &[&str]| NodeLimits { most: 2, instance_types: types.iter().map(|t| (*t).to_owned()).collect() };
    let labels = "labelSelector: {matchLabels: {disk: ssd, kubernetes.io/arch: arm64, node-role.kubernetes.io/a: b}}";
    let spec = format!("{{compute: {{instanceType: huge, count: 3, {labels}}}}}");
    let found = |spec: &str, node_class, types: &[&str]| {
        let defaults = Defaults { node_class, node_limits: limits(types), ..defaults() };
        validate(&engine(spec), &defaults).map_or_else(|invalid| invalid.0, |_| Vec::new())
    };
    let wrong = found(&spec, Some(node_class()), &["small", "medium"]);
    let [count, machine, label] = &wrong[..] else { panic!("{wrong:?}") };
    assert!(
        count.contains("compute.count is 3") && count.contains("at most 2") && count.contains("karpenter.maxNodes")
    );
    assert!(machine.contains("name one of medium, small") && machine.contains("karpenter.instanceTypes"), "{machine}");
    assert!(label.contains("the label node-role.kubernetes.io/a cannot be given"), "{label}");
    assert_eq!(found(&spec, None, &["small"]), [""; 0]);
    let labels = "labelSelector: {matchLabels: {disk: ssd, topology.kubernetes.io/zone: a}}";
    let good = format!("{{compute: {{instanceType: small, count: 2, {labels}}}}}");
    assert_eq!(found(&good, Some(node_class()), &["small"]), [""; 0]);
    assert_eq!(found(&good, Some(node_class()), &[]), [""; 0]);
    // An engine with nodes keeps those that it has.
    let mut held = engine("{compute: {instanceType: small, count: 3}}");
    held.metadata.finalizers = Some(vec![RAG_ENGINE_FINALIZER.to_owned()]);
    let defaults = Defaults { node_class: Some(node_class()), node_limits: limits(&[]), ..defaults() };
    assert!(validate(&held, &defaults).is_ok());
}

#[test]
fn both_kinds_of_embedding_are_refused() {
    let found = errors("{embedding: {local: {}, remote: {url: 'http://e/v1', model: m}}}");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("embedding:"), "{found:?}");
}

#[test]
fn quantities_may_be_numbers() {
    let engine = engine("{podTemplate: {spec: {containers: [{name: ragengine, resources: {limits: {cpu: 2}}}]}}}");
    let pod = validate(&engine, &defaults()).unwrap().pod.spec.unwrap();
    assert_eq!(pod.containers[0].resources.clone().unwrap().limits.unwrap()["cpu"].0, "2");
}

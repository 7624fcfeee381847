//! Each CEL rule: accepted values, rejected values and the message.

mod access;
mod answers;
mod backups;
mod replicas;
mod stores;
mod transport;
mod vector_database;

use serde_json::{Value, json};

use crate::admission::{engine, refusals, schema};
use crate::every_rule::{assert_names_suit_other_objects, assert_refused, assert_rules_are_tested_and_helpful};

/// A rule: prefix of the message, a valid `spec`, an invalid `spec`.
type Rule = (&'static str, &'static str, &'static str);

const RULES: &[Rule] = &[
    ("compute.count must be 1", "compute: {count: 1}", "compute: {count: 3}"),
    ("compute.count must be 1", "compute: {instanceType: large, count: 3}", "compute: {instanceType: large, count: 0}"),
    ("embedding needs exactly one", "embedding: {local: {}}", "embedding: {}"),
    (
        "embedding needs exactly one",
        "embedding: {remote: {url: 'http://e', model: m}}",
        "embedding: {local: {}, remote: {url: 'http://e', model: m}}",
    ),
    (
        "embedding.local.modelFile must be",
        "embedding: {local: {modelFile: onnx/model_int8.onnx}}",
        "embedding: {local: {modelFile: ../model.onnx}}",
    ),
    (
        "embedding.local.hubUrl must be",
        "embedding: {local: {hubUrl: 'https://hub.example.com/mirror'}}",
        "embedding: {local: {hubUrl: hub.example.com}}",
    ),
    (
        "embedding.remote.url must be",
        "embedding: {remote: {url: 'https://e.example.com:8443/v1', model: m}}",
        "embedding: {remote: {url: 'ftp://e', model: m}}",
    ),
    (
        "inferenceService.url must be",
        "inferenceService: {url: 'http://vllm.models.svc/v1?version=1'}",
        "inferenceService: {url: '<inference-url>/v1/completions'}",
    ),
    ("inferenceService.url must be", "inferenceService: {url: 'http://[::1]:8000'}", "inferenceService: {url: ''}"),
    (
        "inferenceService.url must be",
        "inferenceService: {url: 'http://l/a@b'}",
        "inferenceService: {url: 'https://user:password@l/v1'}",
    ),
    (
        "storage must not have both",
        "storage: {persistentVolume: {persistentVolumeClaim: c}}",
        "storage: {persistentVolume: {persistentVolumeClaim: c}, persistentVolumeClaim: c}",
    ),
    (
        "storage.mountPath needs storage.persistentVolumeClaim",
        "storage: {persistentVolumeClaim: c, mountPath: /m}",
        "storage: {persistentVolume: {size: 1Gi}, mountPath: /m}",
    ),
    (
        "storage.mountPath must be an absolute path",
        "storage: {persistentVolumeClaim: c, mountPath: /mnt/data-1}",
        "storage: {persistentVolumeClaim: c, mountPath: mnt}",
    ),
    (
        "storage.persistentVolume.mountPath must be an absolute path",
        "storage: {persistentVolume: {size: 1Gi, mountPath: /data}}",
        "storage: {persistentVolume: {size: 1Gi, mountPath: /data/../etc}}",
    ),
    (
        "storage.persistentVolume needs exactly one of size and persistentVolumeClaim",
        "storage: {persistentVolume: {size: 10Gi}}",
        "storage: {persistentVolume: {}}",
    ),
    (
        "storage.persistentVolume needs exactly one of size and persistentVolumeClaim",
        "storage: {persistentVolume: {persistentVolumeClaim: c}}",
        "storage: {persistentVolume: {persistentVolumeClaim: c, size: 1Gi}}",
    ),
    (
        "storage.persistentVolume.storageClassName needs size",
        "storage: {persistentVolume: {size: 1Gi, storageClassName: fast}}",
        "storage: {persistentVolume: {persistentVolumeClaim: c, storageClassName: fast}}",
    ),
    (
        "storage.persistentVolume.size must be a quantity of at least 1Mi",
        "storage: {persistentVolume: {size: 1.5Gi}}",
        "storage: {persistentVolume: {size: ten}}",
    ),
    (
        "storage.persistentVolume.size must be a quantity of at least 1Mi",
        "storage: {persistentVolume: {size: 1Mi}}",
        "storage: {persistentVolume: {size: '10'}}",
    ),
    (
        "resources.requests must not be more",
        "resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: '1', memory: 1024Mi}}",
        "resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}",
    ),
    (
        "networkPolicy: an entry of egress.to or syncEgress.to needs either",
        "networkPolicy: {egress: {to: [{podSelector: {}}, {namespaceSelector: {}, podSelector: {}}, \
         {namespaceSelector: {}}]}}",
        "networkPolicy: {egress: {to: [{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}]}}",
    ),
    (
        "networkPolicy: an entry of egress.to or syncEgress.to needs either",
        "networkPolicy: {egress: {to: [{ipBlock: {cidr: 10.0.0.0/8}}]}}",
        "networkPolicy: {egress: {to: [{ports: [{port: 443}]}]}}",
    ),
    (
        "networkPolicy: endPort of an egress port must not",
        "networkPolicy: {egress: {to: [{podSelector: {}, ports: [{port: 1, endPort: 1}, {port: 1, endPort: 2}]}]}}",
        "networkPolicy: {egress: {to: [{podSelector: {}, ports: [{port: 2, endPort: 1}]}]}}",
    ),
    (
        "networkPolicy: an entry of egress.to or syncEgress.to needs either",
        "networkPolicy: {syncEgress: {to: [{ipBlock: {cidr: 10.0.0.0/8}}]}}",
        "networkPolicy: {syncEgress: {to: [{}]}}",
    ),
    (
        "rerank.backend: endpoint needs rerank.url",
        "rerank: {backend: endpoint, url: 'http://r:8080/rerank', accessSecret: s, model: m}",
        "rerank: {backend: endpoint}",
    ),
    (
        "rerank.url is only used with",
        "rerank: {backend: endpoint, url: 'https://r.example/v1/rerank'}",
        "rerank: {url: 'http://r/rerank'}",
    ),
    (
        "rerank.url is only used with",
        "rerank: {backend: llm, model: m}",
        "rerank: {backend: llm, url: 'http://r/rerank'}",
    ),
    (
        "rerank.url must be",
        "rerank: {backend: endpoint, url: 'http://r/a@b'}",
        "rerank: {backend: endpoint, url: 'https://user:password@r/rerank'}",
    ),
    (
        "rerank.url must be",
        "rerank: {backend: endpoint, url: 'http://[::1]:8080/rerank'}",
        "rerank: {backend: endpoint, url: 'https://user@r/rerank'}",
    ),
    ("rerank.accessSecret is only used with", "rerank: {backend: llm}", "rerank: {accessSecret: s}"),
    (
        "rerank.accessSecret is only used with",
        "rerank: {backend: local, local: {modelAccessSecret: s}}",
        "rerank: {backend: local, local: {}, accessSecret: s}",
    ),
    ("rerank.backend: local needs rerank.local", "rerank: {backend: local, local: {}}", "rerank: {backend: local}"),
    ("rerank.local is only used with", "rerank: {scoreSpread: 0.1}", "rerank: {local: {}}"),
    (
        "rerank.local is only used with",
        "rerank: {backend: local, local: {modelID: a/b}}",
        "rerank: {backend: endpoint, url: 'http://r/rerank', local: {}}",
    ),
    (
        "rerank.local.hubUrl must be",
        "rerank: {backend: local, local: {hubUrl: 'https://hub.example.com/mirror'}}",
        "rerank: {backend: local, local: {hubUrl: 'https://user@hub.example.com'}}",
    ),
    ("rerank.model is not used with", "rerank: {model: m}", "rerank: {backend: local, local: {}, model: m}"),
    (
        "rerank.model must be in inferenceService.models",
        "{rerank: {model: m}, inferenceService: {models: [other, m]}}",
        "{rerank: {model: m}, inferenceService: {models: [other]}}",
    ),
    (
        "rerank.model must be in inferenceService.models",
        "{rerank: {backend: endpoint, url: 'http://r', model: m}, inferenceService: {models: [other]}}",
        "{rerank: {backend: llm, model: m}, inferenceService: {model: main, models: [other]}}",
    ),
    (
        "rewrite.model must be in inferenceService.models",
        "{rewrite: {model: m}, inferenceService: {model: m, models: [other]}}",
        "{rewrite: {model: m}, inferenceService: {model: main, models: [other]}}",
    ),
    (
        "rewrite.model must be in inferenceService.models",
        "{rewrite: {model: m}, inferenceService: {models: []}}",
        "{rewrite: {model: m}, inferenceService: {models: [M]}}",
    ),
    ("resources.requests must not be more", "resources: {limits: {}}", "resources: {limits: {memory: 256Mi}}"),
];

/// Rules about changes: prefix of the message, old value, a valid new value, an invalid new value.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    (
        "storage.persistentVolume.storageClassName cannot be changed",
        "storage: {persistentVolume: {size: 1Gi, storageClassName: a}}",
        "storage: {persistentVolume: {size: 2Gi, storageClassName: a}}",
        "storage: {persistentVolume: {size: 1Gi, storageClassName: b}}",
    ),
    (
        "storage.persistentVolume.storageClassName cannot be changed",
        "storage: {persistentVolume: {size: 1Gi, storageClassName: a}}",
        "storage: {persistentVolume: {size: 1Gi, storageClassName: a}, deletionPolicy: Delete}",
        "storage: {persistentVolume: {size: 1Gi}}",
    ),
    (
        "storage.persistentVolume.storageClassName cannot be changed",
        "storage: {persistentVolume: {size: 1Gi}}",
        "storage: {persistentVolume: {size: 1Gi}}",
        "storage: {persistentVolume: {size: 1Gi, storageClassName: a}}",
    ),
    (
        "bootstrap cannot be added or changed",
        "bootstrap: {restore: {s3: {bucket: b}}}",
        "bootstrap: {restore: {s3: {bucket: b}}}",
        "bootstrap: {restore: {s3: {bucket: c}}}",
    ),
    (
        "bootstrap cannot be added or changed",
        "{}",
        "replicas: 0",
        "bootstrap: {restore: {persistentVolumeClaim: {claimName: c}}}",
    ),
    (
        "storage.persistentVolume.size cannot be removed",
        "storage: {persistentVolume: {size: 1Gi}}",
        "storage: {persistentVolume: {size: 2Gi}}",
        "storage: {}",
    ),
    (
        "storage.persistentVolume.size cannot be removed",
        "storage: {persistentVolume: {size: 1Gi}}",
        "storage: {persistentVolume: {size: 1Gi, mountPath: /elsewhere}}",
        "{}",
    ),
    (
        "storage.persistentVolume.size cannot be removed",
        "storage: {persistentVolume: {size: 1Gi}}",
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db/rag'}}",
        "storage: {vectorDB: {engine: faiss}}",
    ),
    (
        "storage.persistentVolume.size cannot be removed",
        "storage: {persistentVolume: {size: 1Gi}}",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db/rag'}}",
        "storage: {vectorDB: {}}",
    ),
];

/// Changes that no rule rejects.
const ALLOWED_CHANGES: &[(&str, &str)] = &[
    ("{}", "storage: {persistentVolume: {size: 1Gi}}"),
    ("storage: {persistentVolumeClaim: c}", "{}"),
    ("bootstrap: {restore: {s3: {bucket: b}}}", "{}"),
    ("storage: {persistentVolumeClaim: c}", "storage: {persistentVolume: {persistentVolumeClaim: c}}"),
    ("storage: {persistentVolume: {persistentVolumeClaim: c}}", "storage: {persistentVolume: {size: 1Gi}}"),
    (
        "{storage: {vectorDB: {engine: weaviate, url: 'http://w'}}, postgres: {url: 'postgres://db'}}",
        "{storage: {vectorDB: {engine: qdrant, url: 'http://q'}}, postgres: {url: 'postgres://db'}}",
    ),
    ("{}", "embedding: {remote: {url: 'http://e', model: m}}"),
    ("embedding: {local: {}}", "embedding: {remote: {url: 'http://e', model: m}}"),
];

fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES
        .iter()
        .chain(stores::RULES)
        .chain(answers::RULES)
        .chain(access::RULES)
        .chain(transport::RULES)
        .chain(backups::RULES)
        .chain(replicas::RULES)
        .chain(vector_database::RULES)
}

fn named(name: &str) -> Value {
    let mut object = engine("{}");
    object["metadata"] = json!({"name": name});
    object
}

#[test]
fn valid_values_are_accepted() {
    for (_, valid, _) in rules() {
        assert_eq!(refusals(&engine(valid), None), Vec::<String>::new(), "{valid}");
    }
    let changes = CHANGES.iter().map(|(_, old, valid, _)| (old, valid));
    for (old, valid) in changes.chain(ALLOWED_CHANGES.iter().map(|(old, valid)| (old, valid))) {
        assert_eq!(refusals(&engine(valid), Some(&engine(old))), Vec::<String>::new(), "{old} → {valid}");
    }
}

#[test]
fn invalid_values_are_rejected_with_the_message_of_the_rule() {
    for (message, _, invalid) in rules() {
        assert_refused(&refusals(&engine(invalid), None), message, invalid);
    }
    for (message, old, _, invalid) in CHANGES {
        assert_refused(&refusals(&engine(invalid), Some(&engine(old))), message, &format!("{old} → {invalid}"));
    }
}

#[test]
fn names_are_valid_for_a_service() {
    assert_names_suit_other_objects(|name| refusals(&named(name), None));
}

#[test]
fn every_rule_is_tested_and_its_message_says_what_to_write() {
    let tested = rules().map(|(message, ..)| *message).chain(CHANGES.iter().map(|(message, ..)| *message));
    assert_rules_are_tested_and_helpful(schema(), tested);
}

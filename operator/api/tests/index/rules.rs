//! Each CEL rule: accepted values, rejected values and the message.

use serde_json::{Value, json};

use crate::admission::{index, index_with_source, refusals, schema};
use crate::every_rule::{assert_names_suit_other_objects, assert_refused, assert_rules_are_tested_and_helpful};

/// Rules: prefix of the message, fields of a valid `spec`, fields of an invalid `spec`.
const RULES: &[(&str, &str, &str)] = &[
    ("vectorIndex must be", "vectorIndex: HNSW32_SQ8", "vectorIndex: IVF64"),
    ("vectorIndex must be", "vectorIndex: SQ8", "vectorIndex: HNSW65"),
    ("vectorIndex must be", "vectorIndex: Flat", "vectorIndex: HNSW3"),
    ("vectorIndex must be", "vectorIndex: auto", "vectorIndex: Auto"),
    ("vectorIndex must be", "vectorIndex: 'IVF4,Flat'", "vectorIndex: 'IVF3,Flat'"),
    ("vectorIndex must be", "vectorIndex: 'IVF16384,Flat'", "vectorIndex: 'IVF16385,Flat'"),
    (
        "chunking.overlapTokens must be less",
        "chunking: {maxTokens: 256, overlapTokens: 25}",
        "chunking: {maxTokens: 256, overlapTokens: 256}",
    ),
    ("chunking.overlapTokens must be less", "chunking: {maxTokens: 16}", "chunking: {overlapTokens: 1}"),
    ("schedule must have five fields", "schedule: '*/15 8-18 * * MON-FRI'", "schedule: '@hourly'"),
    ("schedule must have five fields", "schedule: '0 0 1 1 *'", "schedule: '0 0 1 1 * 2026'"),
    ("schedule must have five fields", "schedule: '0 0 1 1 *'", "schedule: '0  0 1 1 *'"),
    (
        "resources.requests must not be more",
        "resources: {requests: {memory: 192Mi}}",
        "resources: {requests: {memory: 193Mi}}",
    ),
];

/// Rules for sources: prefix of the message, a valid source, an invalid source.
const SOURCE_RULES: &[(&str, &str, &str)] = &[
    ("sources[] needs exactly one", "configMap: {name: a}", "include: ['*.md']"),
    ("sources[] needs exactly one", "inline: {documents: []}", "configMap: {name: a}, git: {url: 'https://g/a.git'}"),
    ("sources[] needs exactly one", "s3: {bucket: a}", "s3: {bucket: a}, persistentVolumeClaim: {name: a}"),
    (
        "sources[].inline.documents[].path must be",
        "inline: {documents: [{path: a/b.c..md, text: ''}]}",
        "inline: {documents: [{path: a/../b.md, text: ''}]}",
    ),
    (
        "sources[].inline.documents[].path must be",
        "inline: {documents: [{path: .a, text: ''}]}",
        "inline: {documents: [{path: /a, text: ''}]}",
    ),
    (
        "sources[].inline.documents[].path must be",
        "inline: {documents: [{path: a, text: ''}]}",
        "inline: {documents: [{path: a//b, text: ''}]}",
    ),
    (
        "sources[].persistentVolumeClaim.path must be",
        "persistentVolumeClaim: {name: a, path: manuals/2026}",
        "persistentVolumeClaim: {name: a, path: ../manuals}",
    ),
    (
        "sources[].persistentVolumeClaim.path must be",
        "persistentVolumeClaim: {name: a}",
        "persistentVolumeClaim: {name: a, path: manuals/.}",
    ),
    (
        "sources[].persistentVolumeClaim.path must be",
        "persistentVolumeClaim: {name: a}",
        "persistentVolumeClaim: {name: a, path: /manuals}",
    ),
    ("sources[].http needs urls or a sitemap", "http: {urls: ['http://a']}", "http: {}"),
    ("sources[].http needs urls or a sitemap", "http: {sitemap: 'http://a/s.xml'}", "http: {urls: []}"),
    (
        "sources[].http.urls must be",
        "http: {urls: ['https://a.example:8443/b?c#d', 'http://a']}",
        "http: {urls: ['http://a', 'ftp://a']}",
    ),
    ("sources[].http.urls must be", "http: {urls: ['http://[::1]/']}", "http: {urls: ['http://u:p@a/']}"),
    ("sources[].http.urls must be", "http: {urls: ['http://a/b@c']}", "http: {urls: ['file:///etc/passwd']}"),
    (
        "sources[].http.sitemap must be",
        "http: {sitemap: 'https://a/sitemap.xml'}",
        "http: {sitemap: 'https://u@a/sitemap.xml'}",
    ),
    ("sources[].git.url must be", "git: {url: 'https://g.example/a.git'}", "git: {url: 'ssh://git@g.example/a.git'}"),
    ("sources[].git.url must be", "git: {url: 'http://g/a'}", "git: {url: 'git@g.example:a.git'}"),
    (
        "sources[].s3.endpoint must be",
        "s3: {bucket: a, endpoint: 'http://s3.storage.svc:9000'}",
        "s3: {bucket: a, endpoint: s3.storage.svc}",
    ),
];

/// Rules about changes: prefix of the message, old value, a valid new value, an invalid new value.
const CHANGES: &[(&str, &str, &str, &str)] = &[
    (
        "engineRef.name cannot be changed",
        "engineRef: {name: a}",
        "{engineRef: {name: a}, suspend: true}",
        "engineRef: {name: b}",
    ),
    ("indexName cannot be changed", "{}", "indexName: handbook", "indexName: other"),
    ("indexName cannot be changed", "indexName: a", "{indexName: a, suspend: true}", "{}"),
];

/// Changes that no rule rejects; a synchronisation applies them.
const ALLOWED_CHANGES: &[(&str, &str)] = &[
    ("{}", "chunking: {maxTokens: 256}"),
    ("chunking: {maxTokens: 256, overlapTokens: 25}", "chunking: {maxTokens: 512}"),
    ("chunking: {maxTokens: 256}", "{}"),
    ("vectorIndex: Flat", "vectorIndex: SQ8"),
    ("vectorIndex: Flat", "{}"),
    ("{}", "sources: [{name: faq, git: {url: 'https://g/a.git'}}]"),
    ("{}", "sources: [{name: b, configMap: {name: b}}, {name: a, configMap: {name: a}}]"),
    ("{}", "{schedule: '0 * * * *', deletionPolicy: Retain, allowedRanges: [10.0.0.0/8, '::1']}"),
];

fn named(name: &str) -> Value {
    let mut object = index("{}");
    object["metadata"] = json!({"name": name});
    object
}

fn cases() -> impl Iterator<Item = (&'static str, Value, Value)> {
    let of_spec = RULES.iter().map(|(message, valid, invalid)| (*message, index(valid), index(invalid)));
    let of_sources = SOURCE_RULES
        .iter()
        .map(|(message, valid, invalid)| (*message, index_with_source(valid), index_with_source(invalid)));
    of_spec.chain(of_sources)
}

#[test]
fn valid_values_are_accepted() {
    for (_, valid, _) in cases() {
        assert_eq!(refusals(&valid, None), Vec::<String>::new(), "{valid}");
    }
    let changes = CHANGES.iter().map(|(_, old, valid, _)| (old, valid));
    for (old, valid) in changes.chain(ALLOWED_CHANGES.iter().map(|(old, valid)| (old, valid))) {
        assert_eq!(refusals(&index(valid), Some(&index(old))), Vec::<String>::new(), "{old} → {valid}");
    }
}

#[test]
fn invalid_values_are_rejected_with_the_message_of_the_rule() {
    for (message, _, invalid) in cases() {
        assert_refused(&refusals(&invalid, None), message, &invalid.to_string());
    }
    for (message, old, _, invalid) in CHANGES {
        assert_refused(&refusals(&index(invalid), Some(&index(old))), message, &format!("{old} → {invalid}"));
    }
}

#[test]
fn names_are_valid_as_prefix_of_job_names() {
    assert_names_suit_other_objects(|name| refusals(&named(name), None));
}

#[test]
fn every_rule_is_tested_and_its_message_says_what_to_write() {
    let tested = RULES
        .iter()
        .chain(SOURCE_RULES)
        .map(|(message, ..)| *message)
        .chain(CHANGES.iter().map(|(message, ..)| *message));
    assert_rules_are_tested_and_helpful(schema(), tested);
}

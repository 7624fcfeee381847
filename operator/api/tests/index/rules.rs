//! Each CEL rule: what it takes, what it refuses, and in which words.

use serde_json::{Value, json};

use crate::admission::{index, index_of, refusals, schema};
use crate::every_rule::{
    assert_every_rule_is_tested_and_says_what_to_write, assert_names_can_be_those_of_other_objects, assert_refused,
};

/// One rule: the beginning of its message, fields of a `spec` that it takes, and of one that it refuses.
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

/// The same of one source.
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

/// One rule of a change: the beginning of its message, what was there, a change that it takes, one that it refuses.
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

/// Changes that a synchronisation is there for.
const CHANGES_THAT_ARE_FREE: &[(&str, &str)] = &[
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
    let of_spec = RULES.iter().map(|(message, taken, refused)| (*message, index(taken), index(refused)));
    of_spec.chain(SOURCE_RULES.iter().map(|(message, taken, refused)| (*message, index_of(taken), index_of(refused))))
}

#[test]
fn what_a_rule_takes_is_taken() {
    for (_, taken, _) in cases() {
        assert_eq!(refusals(&taken, None), Vec::<String>::new(), "{taken}");
    }
    let changes = CHANGES.iter().map(|(_, old, taken, _)| (old, taken));
    for (old, taken) in changes.chain(CHANGES_THAT_ARE_FREE.iter().map(|(old, taken)| (old, taken))) {
        assert_eq!(refusals(&index(taken), Some(&index(old))), Vec::<String>::new(), "{old} → {taken}");
    }
}

#[test]
fn what_a_rule_refuses_is_refused_in_its_words() {
    for (message, _, refused) in cases() {
        assert_refused(&refusals(&refused, None), message, &refused.to_string());
    }
    for (message, old, _, refused) in CHANGES {
        assert_refused(&refusals(&index(refused), Some(&index(old))), message, &format!("{old} → {refused}"));
    }
}

#[test]
fn names_are_those_that_jobs_can_be_named_after() {
    assert_names_can_be_those_of_other_objects(|name| refusals(&named(name), None));
}

#[test]
fn every_rule_has_a_case_and_a_message_of_its_own() {
    let tested = RULES
        .iter()
        .chain(SOURCE_RULES)
        .map(|(message, ..)| *message)
        .chain(CHANGES.iter().map(|(message, ..)| *message));
    assert_every_rule_is_tested_and_says_what_to_write(schema(), tested);
}

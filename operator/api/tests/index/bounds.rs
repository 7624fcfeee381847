//! Bounds: values outside are rejected, and the engine accepts the values at the bounds.

use serde_json::json;

use crate::admission::{index, index_with_source, refusals, schema};
use crate::every_bound::assert_bounded_and_described;

#[test]
fn values_out_of_bounds_are_rejected() {
    let source = |source: &str| index_with_source(source);
    let many = |count: usize| json!(vec![json!({"name": "a", "configMap": {"name": "a"}}); count]);
    let mut sources = index("{}");
    sources["spec"]["sources"] = many(33);
    let mut none = index("{}");
    none["spec"]["sources"] = many(0);
    for (object, place) in [
        (index("engineRef: {}"), ".spec.engineRef"),
        (index("engineRef: {name: Docs}"), ".spec.engineRef.name"),
        (index("indexName: 'a b'"), ".spec.indexName"),
        (index("indexName: ''"), ".spec.indexName"),
        (index(&format!("indexName: {}", "a".repeat(64))), ".spec.indexName"),
        (index("chunking: {maxTokens: 15}"), ".spec.chunking.maxTokens"),
        (index("chunking: {maxTokens: 100, overlapTokens: -1}"), ".spec.chunking.overlapTokens"),
        (index("suspend: 'yes'"), ".spec.suspend"),
        (index("deletionPolicy: Keep"), ".spec.deletionPolicy"),
        (index("allowedRanges: [all]"), ".spec.allowedRanges[0]"),
        (index("resources: {limits: {memory: lots}}"), ".spec.resources.limits.memory"),
        (index("access: {read: [staff]}"), ".spec.access.read[0]"),
        (index("access: {read: ['user: ann']}"), ".spec.access.read[0]"),
        (index("access: {write: ['serviceAccount:Web/*']}"), ".spec.access.write[0]"),
        (index("access: {write: ['*', 'user:*']}"), ".spec.access.write[1]"),
        (index("access: {delete: []}"), ".spec.access"),
        (index("replicas: 1"), ".spec"),
        (sources, ".spec.sources"),
        (none, ".spec.sources"),
        (index(&format!("sources: [{{name: {}, configMap: {{name: a}}}}]", "a".repeat(41))), ".spec.sources[0].name"),
        (index("sources: [{name: a.b, configMap: {name: a}}]"), ".spec.sources[0].name"),
        (index("sources: [{configMap: {name: a}}]"), ".spec.sources[0]"),
        (source("configMap: {name: A}"), ".spec.sources[0].configMap.name"),
        (source("configMap: {}"), ".spec.sources[0].configMap"),
        (source("persistentVolumeClaim: {path: a}"), ".spec.sources[0].persistentVolumeClaim"),
        (source("inline: {documents: [{path: a.md}]}"), ".spec.sources[0].inline.documents[0]"),
        (source("http: {urls: ['http://a'], accessSecret: 'a b'}"), ".spec.sources[0].http.accessSecret"),
        (source("git: {ref: main}"), ".spec.sources[0].git"),
        (source("git: {url: 'https://g/a.git', ref: '--upload-pack=x'}"), ".spec.sources[0].git.ref"),
        (source("s3: {bucket: '../a'}"), ".spec.sources[0].s3.bucket"),
        (source("s3: {bucket: a, region: 'eu west'}"), ".spec.sources[0].s3.region"),
        (source("configMap: {name: a}, include: ['']"), ".spec.sources[0].include[0]"),
        (source("configMap: {name: a}, metadata: [a]"), ".spec.sources[0].metadata"),
    ] {
        let found = refusals(&object, None);
        assert!(found.iter().any(|refusal| refusal.starts_with(&format!("{place}: "))), "{place}: {found:?}");
    }
}

#[test]
fn the_engine_accepts_values_at_the_bounds() {
    let chunking = &schema()["properties"]["spec"]["properties"]["chunking"]["properties"]["maxTokens"];
    for bound in ["minimum", "maximum"] {
        let settings = format!("chunking: {{maxTokens: {:.0}}}", chunking[bound].as_f64().unwrap());
        assert_eq!(refusals(&index(&settings), None), Vec::<String>::new(), "{settings}");
        ragengine_settings::from_yaml(&settings).unwrap();
    }
    let lists = [4, 9, 10, 99, 100, 9999, 10000, 15999, 16000, 16299, 16300, 16379, 16380, 16384]
        .map(|n| format!("IVF{n},Flat"));
    let others =
        ["auto", "Flat", "SQ8", "HNSW4", "HNSW64", "HNSW9_SQ8", "HNSW10", "HNSW59", "HNSW60"].map(str::to_owned);
    for kind in lists.into_iter().chain(others) {
        assert_eq!(refusals(&index(&format!("vectorIndex: '{kind}'")), None), Vec::<String>::new(), "{kind}");
        kind.parse::<ragengine_settings::VectorIndexKind>().unwrap();
    }
}

/// Each is a rule of the server: see `is_access_rule`.
#[test]
fn rules_of_access_are_accepted() {
    for rule in [
        "*",
        "key:ci",
        "user:ann@example.org",
        "user:Ann M\u{fc}ller",
        "group:a:b/c",
        "serviceAccount:web/*",
        "serviceAccount:a/b.c",
    ] {
        let access = format!("access: {{read: ['{rule}'], write: []}}");
        assert_eq!(refusals(&index(&access), None), Vec::<String>::new(), "{rule}");
        assert!(ragengine_operator_api::is_access_rule(rule), "{rule}");
    }
}

#[test]
fn every_field_of_spec_has_bounds_and_a_description() {
    assert_bounded_and_described(&schema()["properties"]["spec"], "spec");
}

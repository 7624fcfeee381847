//! Complete manifests, checked with the Rust types and with the schema.

use std::path::Path;

use ragengine_operator_api::{Index, IndexDeletionPolicy, IndexSpec, Origin, SyncResources};
use serde_json::Value;

use crate::admission::{complete, index, refusals};

const EVERYTHING: &str = include_str!("fixtures/everything.yaml");

/// The Index manifests of `config/samples`.
fn samples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples");
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let documents = files.flat_map(|file| file.split("\n---\n").map(str::to_owned).collect::<Vec<_>>());
    documents.filter(|document| document.contains("\nkind: Index\n")).collect()
}

#[test]
fn manifests_are_admitted_and_keep_every_field() {
    let samples = samples();
    assert!(samples.len() >= 5, "{} samples", samples.len());
    for manifest in samples.iter().map(String::as_str).chain([EVERYTHING]) {
        let object = complete(&serde_saphyr::from_str::<Value>(manifest).unwrap());
        assert_eq!(refusals(&object, None), Vec::<String>::new(), "{manifest}");
        let typed: Index = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(&typed).unwrap(), object, "{manifest}");
        // The Rust types and the schema must have the same defaults.
        let unfilled: Index = serde_saphyr::from_str(manifest).unwrap();
        assert_eq!(unfilled, typed, "{manifest}");
    }
}

#[test]
fn the_samples_show_every_kind_of_source() {
    let indexes: Vec<Index> = samples().iter().map(|sample| serde_saphyr::from_str(sample).unwrap()).collect();
    let sources: Vec<_> = indexes.iter().flat_map(|index| &index.spec.sources).collect();
    let has = |is: fn(Origin<'_>) -> bool| sources.iter().any(|source| source.origin().is_some_and(is));
    assert!(has(|origin| matches!(origin, Origin::Inline(_))));
    assert!(has(|origin| matches!(origin, Origin::ConfigMap(_))));
    assert!(has(|origin| matches!(origin, Origin::Volume(_))));
    assert!(has(|origin| matches!(origin, Origin::Http(_))));
    assert!(has(|origin| matches!(origin, Origin::Git(_))));
    assert!(has(|origin| matches!(origin, Origin::S3(_))));
}

#[test]
fn missing_fields_get_the_defaults() {
    let object = index("{}");
    let spec: IndexSpec = serde_json::from_value(object["spec"].clone()).unwrap();
    assert_eq!(spec.resources, SyncResources::default());
    assert_eq!((spec.suspend, spec.deletion_policy), (false, IndexDeletionPolicy::Delete));
    assert_eq!(object["spec"]["resources"]["limits"]["memory"], "192Mi");
    assert_eq!(index("resources: {limits: {cpu: 1}}")["spec"]["resources"]["requests"]["memory"], "64Mi");
}

#[test]
fn the_index_name_defaults_to_the_object_name() {
    for (spec, name) in [("{}", "handbook"), ("indexName: Team_A.docs", "Team_A.docs")] {
        let index: Index = serde_json::from_value(index(spec)).unwrap();
        assert_eq!(index.index_name(), name);
    }
}

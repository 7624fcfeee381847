//! Whole manifests: what users have, through the types and through the schema.

use std::path::Path;

use ragengine_operator_api::{Index, IndexDeletionPolicy, IndexSpec, Origin, SyncResources};
use serde_json::Value;

use crate::admission::{complete, index, refusals};

const EVERYTHING: &str = include_str!("fixtures/everything.yaml");

/// The Indexes of the samples.
fn samples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples");
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let documents = files.flat_map(|file| file.split("\n---\n").map(str::to_owned).collect::<Vec<_>>());
    documents.filter(|document| document.contains("\nkind: Index\n")).collect()
}

#[test]
fn manifests_are_taken_and_nothing_of_them_is_lost() {
    let samples = samples();
    assert!(samples.len() >= 5, "{} samples", samples.len());
    for manifest in samples.iter().map(String::as_str).chain([EVERYTHING]) {
        let object = complete(&serde_saphyr::from_str::<Value>(manifest).unwrap());
        assert_eq!(refusals(&object, None), Vec::<String>::new(), "{manifest}");
        let typed: Index = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(serde_json::to_value(&typed).unwrap(), object, "{manifest}");
        // The types have the same defaults as the schema.
        let unfilled: Index = serde_saphyr::from_str(manifest).unwrap();
        assert_eq!(unfilled, typed, "{manifest}");
    }
}

#[test]
fn the_samples_show_every_kind_of_source() {
    let indexes: Vec<Index> = samples().iter().map(|sample| serde_saphyr::from_str(sample).unwrap()).collect();
    let sources: Vec<_> = indexes.iter().flat_map(|index| &index.spec.sources).collect();
    let is_there = |is: fn(Origin<'_>) -> bool| sources.iter().any(|source| source.origin().is_some_and(is));
    assert!(is_there(|origin| matches!(origin, Origin::Inline(_))));
    assert!(is_there(|origin| matches!(origin, Origin::ConfigMap(_))));
    assert!(is_there(|origin| matches!(origin, Origin::Volume(_))));
    assert!(is_there(|origin| matches!(origin, Origin::Http(_))));
    assert!(is_there(|origin| matches!(origin, Origin::Git(_))));
    assert!(is_there(|origin| matches!(origin, Origin::S3(_))));
}

#[test]
fn what_is_not_said_is_completed() {
    let object = index("{}");
    let spec: IndexSpec = serde_json::from_value(object["spec"].clone()).unwrap();
    assert_eq!(spec.resources, SyncResources::default());
    assert_eq!((spec.suspend, spec.deletion_policy), (false, IndexDeletionPolicy::Delete));
    assert_eq!(object["spec"]["resources"]["limits"]["memory"], "192Mi");
    assert_eq!(index("resources: {limits: {cpu: 1}}")["spec"]["resources"]["requests"]["memory"], "64Mi");
}

#[test]
fn an_index_is_named_as_it_says_or_as_itself() {
    for (spec, name) in [("{}", "handbook"), ("indexName: Team_A.docs", "Team_A.docs")] {
        let index: Index = serde_json::from_value(index(spec)).unwrap();
        assert_eq!(index.index_name(), name);
    }
}

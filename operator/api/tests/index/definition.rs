//! The whole definition and the files generated from it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use ragengine_operator_api::{index_definition, index_reference};

const FILE: &str = include_str!("../../../../crds/ragengine.dev_indexes.yaml");
const REFERENCE: &str = include_str!("../../../../docs/index-resource.md");

#[test]
fn generated_files_are_up_to_date() {
    let file: CustomResourceDefinition = serde_saphyr::from_str(FILE).unwrap();
    assert!(file == index_definition(), "crds/ is out of date: run 'make generate'");
    assert!(REFERENCE == index_reference(), "docs/ is out of date: run 'make generate'");
}

/// `kubectl apply` stores the whole object in an annotation. Annotations are limited to 256 KiB.
#[test]
fn the_definition_fits_into_an_annotation() {
    let json = serde_json::to_string(&index_definition()).unwrap();
    assert!(json.len() < 256 << 10 && FILE.len() < 256 << 10, "{} and {} bytes", json.len(), FILE.len());
}

#[test]
fn it_has_a_status_a_short_name_and_columns() {
    let definition = index_definition();
    assert_eq!(definition.metadata.name.as_deref(), Some("indexes.ragengine.dev"));
    assert_eq!(definition.spec.names.singular.as_deref(), Some("index"));
    assert_eq!(definition.spec.names.short_names, Some(vec!["idx".to_owned()]));
    assert_eq!(definition.spec.names.categories, Some(vec!["ragengine-all".to_owned()]));
    let [version] = definition.spec.versions.as_slice() else { panic!("one version") };
    let subresources = version.subresources.as_ref().unwrap();
    assert!(subresources.status.is_some() && subresources.scale.is_none());
    let columns = version.additional_printer_columns.as_ref().unwrap();
    let shown = |wide: bool| -> Vec<&str> {
        let shown = columns.iter().filter(|column| wide || column.priority.unwrap_or(0) == 0);
        shown.map(|column| column.name.as_str()).collect()
    };
    assert_eq!(shown(false), ["Documents", "Revision", "Synced", "Ready", "Reason"]);
    assert_eq!(shown(true), ["Documents", "Revision", "Synced", "Ready", "Reason", "Engine", "Age"]);
}

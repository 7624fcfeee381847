//! The whole definition and the files generated from it.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use ragengine_operator_api::{rag_engine_definition, rag_engine_reference};

const FILE: &str = include_str!("../../../../crds/ragengine.dev_ragengines.yaml");
const REFERENCE: &str = include_str!("../../../../docs/ragengine-resource.md");

#[test]
fn generated_files_are_up_to_date() {
    let file: CustomResourceDefinition = serde_saphyr::from_str(FILE).unwrap();
    assert!(file == rag_engine_definition(), "crds/ is out of date: run 'make generate'");
    assert!(REFERENCE == rag_engine_reference(), "docs/ is out of date: run 'make generate'");
}

/// `kubectl apply` stores the whole object in an annotation. Annotations are limited to 256 KiB.
#[test]
fn the_definition_fits_into_an_annotation() {
    let json = serde_json::to_string(&rag_engine_definition()).unwrap();
    assert!(json.len() < 256 << 10 && FILE.len() < 256 << 10, "{} and {} bytes", json.len(), FILE.len());
}

#[test]
fn it_has_subresources_a_short_name_and_columns() {
    let definition = rag_engine_definition();
    assert_eq!(definition.metadata.name.as_deref(), Some("ragengines.ragengine.dev"));
    assert_eq!(definition.spec.names.short_names, Some(vec!["rag".to_owned()]));
    // No category may equal the short name: kubectl would look for a name after it in all resources of the category.
    assert_eq!(definition.spec.names.categories, Some(vec!["ragengine-all".to_owned()]));
    let [version] = definition.spec.versions.as_slice() else { panic!("one version") };
    let subresources = version.subresources.as_ref().unwrap();
    assert!(subresources.status.is_some());
    let scale = subresources.scale.as_ref().unwrap();
    assert_eq!(
        (scale.spec_replicas_path.as_str(), scale.status_replicas_path.as_str()),
        (".spec.replicas", ".status.replicas")
    );
    assert_eq!(scale.label_selector_path.as_deref(), Some(".status.selector"));
    let columns = version.additional_printer_columns.as_ref().unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["Ready", "Reason", "Indexes", "Documents", "Endpoint", "Age"]);
}

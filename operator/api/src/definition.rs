use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use crate::{Index, RagEngine};

/// The CustomResourceDefinition of RAGEngine, as it is applied.
pub fn rag_engine_definition() -> CustomResourceDefinition {
    with_known_formats(RagEngine::crd())
}

/// The CustomResourceDefinition of Index, as it is applied.
pub fn index_definition() -> CustomResourceDefinition {
    with_known_formats(Index::crd())
}

fn with_known_formats(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            known_formats(schema);
        }
    }
    definition
}

/// Kubernetes knows no unsigned formats and warns about them whenever the definition is applied. The bounds say that there is
/// nothing below zero.
fn known_formats(schema: &mut JSONSchemaProps) {
    match schema.format.as_deref() {
        Some("uint32") => schema.format = Some("int32".to_owned()),
        Some("uint64") => schema.format = Some("int64".to_owned()),
        _ => {}
    }
    schema.properties.iter_mut().flatten().for_each(|(_, property)| known_formats(property));
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        known_formats(values);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        known_formats(items);
    }
}

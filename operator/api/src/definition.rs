use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use crate::{Index, RagEngine};

/// The CustomResourceDefinition of RAGEngine, ready to apply.
pub fn rag_engine_definition() -> CustomResourceDefinition {
    normalized(RagEngine::crd())
}

/// The CustomResourceDefinition of Index, ready to apply.
pub fn index_definition() -> CustomResourceDefinition {
    normalized(Index::crd())
}

fn normalized(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            normalize(schema);
        }
    }
    definition
}

/// Adapts a schema to Kubernetes and to `kubectl explain`.
///
/// Kubernetes has no unsigned formats and warns about them each time the definition is applied; the minimum of the
/// field excludes negative values. Doc comments are wrapped at the width of the source; descriptions are one line.
fn normalize(schema: &mut JSONSchemaProps) {
    if let Some(description) = &mut schema.description {
        *description = description.replace('\n', " ");
    }
    match schema.format.as_deref() {
        Some("uint32") => schema.format = Some("int32".to_owned()),
        Some("uint64") => schema.format = Some("int64".to_owned()),
        _ => {}
    }
    schema.properties.iter_mut().flatten().for_each(|(_, property)| normalize(property));
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        normalize(values);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        normalize(items);
    }
}

//! The way of an object through the API server: defaults, structure, rules.

use kube_cel::{Validator, apply_defaults};
use ragengine_operator_api::rag_engine_definition;
use serde_json::{Value, json};

use crate::structural;

/// The schema of the definition's only version.
pub fn schema() -> Value {
    let definition = serde_json::to_value(rag_engine_definition()).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// A whole RAGEngine with this `spec`, as its defaults complete it.
pub fn engine(spec: &str) -> Value {
    let spec: Value = serde_saphyr::from_str(spec).unwrap();
    complete(&json!({
        "apiVersion": "ragengine.dev/v1alpha1",
        "kind": "RAGEngine",
        "metadata": {"name": "docs"},
        "spec": spec,
    }))
}

/// The object with all defaults.
pub fn complete(object: &Value) -> Value {
    apply_defaults(&schema(), object)
}

/// Why the API server refuses the object, as a new one or in place of `old`; nothing when it takes it.
pub fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = schema();
    let mut content = object.clone();
    for known in ["apiVersion", "kind", "metadata"] {
        content.as_object_mut().unwrap().remove(known).unwrap();
    }
    let mut refusals = structural::problems(&schema, &content, "");
    if let Err(errors) = Validator::new().validate(&schema, object, old) {
        refusals.extend(errors.into_vec().into_iter().map(|error| error.message));
    }
    refusals
}

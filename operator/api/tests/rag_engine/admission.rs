//! Admission of a RAGEngine by the API server.

use std::sync::LazyLock;

use ragengine_operator_api::rag_engine_definition;
use serde_json::{Value, json};

use crate::every_admission::Schema;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of(&rag_engine_definition()));

/// The schema of the definition's only version.
pub fn schema() -> &'static Value {
    SCHEMA.as_json()
}

/// A RAGEngine with this `spec` and all defaults.
pub fn engine(spec: &str) -> Value {
    let spec: Value = serde_saphyr::from_str(spec).unwrap();
    complete(&json!({
        "apiVersion": "ragengine.dev/v1alpha1",
        "kind": "RAGEngine",
        "metadata": {"name": "docs"},
        "spec": spec,
    }))
}

/// The object with all defaults filled in.
pub fn complete(object: &Value) -> Value {
    SCHEMA.complete(object)
}

/// The errors of the API server when the object is created, or replaces `old`. Empty if the object is admitted.
pub fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    SCHEMA.refusals(object, old)
}

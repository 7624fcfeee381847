//! The way of a RAGEngine through the API server.

use std::sync::LazyLock;

use ragengine_operator_api::rag_engine_definition;
use serde_json::{Value, json};

use crate::every_admission::Schema;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of(&rag_engine_definition()));

/// The schema of the definition's only version.
pub fn schema() -> &'static Value {
    SCHEMA.as_json()
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
    SCHEMA.complete(object)
}

/// Why the API server refuses the object, as a new one or in place of `old`; nothing when it takes it.
pub fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    SCHEMA.refusals(object, old)
}

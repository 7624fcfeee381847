//! Admission of an Index by the API server.

use std::sync::LazyLock;

use ragengine_operator_api::index_definition;
use serde_json::{Value, json};

use crate::every_admission::Schema;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of(&index_definition()));

/// The schema of the definition's only version.
pub fn schema() -> &'static Value {
    SCHEMA.as_json()
}

/// An Index with these fields of `spec`, an engine and a source if `spec` has none, and all defaults.
pub fn index(spec: &str) -> Value {
    let mut spec: Value = serde_saphyr::from_str(spec).unwrap();
    for (field, value) in
        [("engineRef", json!({"name": "docs"})), ("sources", json!([{"name": "faq", "configMap": {"name": "faq"}}]))]
    {
        if spec[field].is_null() {
            spec[field] = value;
        }
    }
    complete(&json!({
        "apiVersion": "ragengine.dev/v1alpha1",
        "kind": "Index",
        "metadata": {"name": "handbook"},
        "spec": spec,
    }))
}

/// An Index with a single source `a` with these fields.
pub fn index_with_source(source: &str) -> Value {
    index(&format!("sources: [{{name: a, {source}}}]"))
}

/// The object with all defaults filled in.
pub fn complete(object: &Value) -> Value {
    SCHEMA.complete(object)
}

/// The errors of the API server when the object is created, or replaces `old`. Empty if the object is admitted.
pub fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    SCHEMA.refusals(object, old)
}

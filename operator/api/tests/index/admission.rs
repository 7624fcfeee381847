//! The way of an Index through the API server.

use std::sync::LazyLock;

use ragengine_operator_api::index_definition;
use serde_json::{Value, json};

use crate::every_admission::Schema;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of(&index_definition()));

/// The schema of the definition's only version.
pub fn schema() -> &'static Value {
    SCHEMA.as_json()
}

/// A whole Index with these fields of `spec`, besides an engine and a source where it names none, as its defaults complete it.
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

/// The same with this one source `a`.
pub fn index_of(source: &str) -> Value {
    index(&format!("sources: [{{name: a, {source}}}]"))
}

/// The object with all defaults.
pub fn complete(object: &Value) -> Value {
    SCHEMA.complete(object)
}

/// Why the API server refuses the object, as a new one or in place of `old`; nothing when it takes it.
pub fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    SCHEMA.refusals(object, old)
}

//! The way of an object through the API server: defaults, structure, rules.

use std::sync::LazyLock;

use kube_cel::{Validator, apply_defaults};
use ragengine_operator_api::index_definition;
use serde_json::{Value, json};

use crate::structural;

/// The schema of the definition's only version.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let definition = serde_json::to_value(index_definition()).unwrap();
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    });
    &SCHEMA
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
    apply_defaults(schema(), object)
}

/// Why the API server refuses the object, as a new one or in place of `old`; nothing when it takes it.
pub fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = schema();
    let mut content = object.clone();
    for known in ["apiVersion", "kind", "metadata"] {
        content.as_object_mut().unwrap().remove(known).unwrap();
    }
    let mut refusals = structural::problems(schema, &content, "");
    if let Err(errors) = Validator::new().validate(schema, object, old) {
        refusals.extend(errors.into_vec().into_iter().map(|error| error.message));
    }
    refusals
}

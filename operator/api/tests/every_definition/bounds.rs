//! Checks of the fields of a definition.

use serde_json::Value;

/// Checks that every string, list, map and number below `schema` has bounds, and every field a description. The API
/// server estimates the cost of a CEL rule from the largest possible value.
pub fn assert_bounded_and_described(schema: &Value, path: &str) {
    let require_bound = |keyword: &str| assert!(schema[keyword].is_u64(), "{path} has no {keyword}");
    match schema["type"].as_str() {
        Some("string") if schema["enum"].is_null() => require_bound("maxLength"),
        Some("array") => require_bound("maxItems"),
        Some("object") if schema["properties"].is_null() => require_bound("maxProperties"),
        Some("integer" | "number") => {
            assert!(schema["minimum"].is_number() && schema["maximum"].is_number(), "{path} has no bounds");
        }
        _ => {}
    }
    // Kubernetes warns about unknown formats each time the definition is applied.
    let format = schema["format"].as_str().unwrap_or("int32");
    assert!(["int32", "int64", "float", "double", "date-time"].contains(&format), "{path}: {format}");
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let description = field["description"].as_str().unwrap_or_default();
        assert!(description.len() > 8, "{path}.{name} has no description");
        assert_bounded_and_described(field, &format!("{path}.{name}"));
    }
    for nested in ["items", "additionalProperties"] {
        if schema[nested].is_object() {
            assert_bounded_and_described(&schema[nested], &format!("{path}.{nested}"));
        }
    }
}

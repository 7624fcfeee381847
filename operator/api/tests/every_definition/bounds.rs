//! What holds for the fields of every definition.

use serde_json::Value;

/// Every text, list, map and number below `schema` has its bounds, and every field says what it means. A rule's cost is reckoned from the
/// largest value that it may meet.
pub fn assert_bounded_and_described(schema: &Value, path: &str) {
    let bounded = |keyword: &str| assert!(schema[keyword].is_u64(), "{path} has no {keyword}");
    match schema["type"].as_str() {
        Some("string") if schema["enum"].is_null() => bounded("maxLength"),
        Some("array") => bounded("maxItems"),
        Some("object") if schema["properties"].is_null() => bounded("maxProperties"),
        Some("integer" | "number") => {
            assert!(schema["minimum"].is_number() && schema["maximum"].is_number(), "{path} has no bounds");
        }
        _ => {}
    }
    // Any other is a warning at every kubectl apply.
    let format = schema["format"].as_str().unwrap_or("int32");
    assert!(["int32", "int64", "float", "double", "date-time"].contains(&format), "{path}: {format}");
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let words = field["description"].as_str().unwrap_or_default();
        assert!(words.len() > 8, "{path}.{name} has no description");
        assert_bounded_and_described(field, &format!("{path}.{name}"));
    }
    for nested in ["items", "additionalProperties"] {
        if schema[nested].is_object() {
            assert_bounded_and_described(&schema[nested], &format!("{path}.{nested}"));
        }
    }
}

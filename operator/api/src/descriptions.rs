//! Descriptions of fields in a definition.

use schemars::Schema;
use serde_json::Value;

/// Keeps the descriptions of optional fields, which those of their types would otherwise replace. Fields of one type
/// can have different defaults.
pub(crate) fn keep_descriptions(schema: &mut Schema) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for field in fields.into_iter().flat_map(serde_json::Map::values_mut) {
        let choices = field.get_mut("anyOf").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten().filter_map(Value::as_object_mut) {
            choice.remove("description");
        }
    }
}

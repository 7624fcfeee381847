use serde_json::{Map, Value};

/// Overhead of an allocation, which is rounded up.
const ALLOCATION_BYTES: usize = 16;

/// The memory of an allocation of `bytes` bytes, including its overhead.
pub fn allocated_bytes(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + ALLOCATION_BYTES }
}

/// The heap memory of an object in bytes, rounded up.
pub fn memory_bytes(object: &Map<String, Value>) -> usize {
    if object.is_empty() {
        return 0;
    }
    // A hash table has a power of two of slots, of which an eighth stays free, and at least four. The vector of fields
    // has the same capacity.
    let places = (object.len() * 8).div_ceil(7).next_power_of_two().max(4);
    let place = size_of::<(usize, String, Value)>() + size_of::<usize>() + size_of::<u8>();
    let inside = object.iter().map(|(name, value)| allocated_bytes(name.capacity()) + value_memory(value));
    allocated_bytes(places * place) + inside.sum::<usize>()
}

fn value_memory(value: &Value) -> usize {
    match value {
        Value::String(text) => allocated_bytes(text.capacity()),
        Value::Array(items) => {
            allocated_bytes(items.capacity() * size_of::<Value>()) + items.iter().map(value_memory).sum::<usize>()
        }
        Value::Object(object) => memory_bytes(object),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The minimum length of an object as JSON in bytes: without escapes and spaces.
pub fn json_bytes(object: &Map<String, Value>) -> usize {
    let field = |(name, value): (&String, &Value)| r#""":"#.len() + name.len() + value_json(value);
    list_json(object.len(), object.iter().map(field).sum())
}

fn value_json(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => "null".len(),
        Value::Number(_) => "0".len(),
        Value::String(text) => r#""""#.len() + text.len(),
        Value::Array(items) => list_json(items.len(), items.iter().map(value_json).sum()),
        Value::Object(object) => json_bytes(object),
    }
}

/// The length of brackets, items and the commas between them.
fn list_json(items: usize, bytes: usize) -> usize {
    "[]".len() + items.saturating_sub(1) + bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { unreachable!() };
        object
    }

    #[test]
    fn memory_is_the_sum_of_the_allocations() {
        let place = size_of::<(usize, String, Value)>() + 9;
        // An object, its slots, the bytes of other allocations, and the number of these.
        for (value, places, others, allocations) in [
            (json!({"": 0}), 4, 0, 0),
            (json!({"": [0, null]}), 4, 2 * size_of::<Value>(), 1),
            (json!({"a": "bc", "d": true, "": {}}), 4, 4, 3),
            (json!({"a": 1, "b": 2, "c": 3, "d": 4}), 8, 4, 4),
            (json!({"": {"": 0}}), 8, 0, 1),
        ] {
            let expected = places * place + others + (1 + allocations) * ALLOCATION_BYTES;
            assert_eq!(memory_bytes(&object(value.clone())), expected, "{value}");
        }
        assert_eq!(memory_bytes(&Map::new()), 0);
    }

    proptest! {
        #[test]
        fn json_is_never_shorter(names in prop::collection::vec("\\PC{0,6}", 0..8), number: f64, is_it: bool) {
            let fields = names.into_iter().map(|name| {
                let value = json!([name, number, {"is": is_it, "not": null}, {}, []]);
                (name, value)
            });
            let object: Map<String, Value> = fields.collect();
            prop_assert!(json_bytes(&object) <= Value::from(object.clone()).to_string().len());
        }
    }
}

//! Whether an object is as it was asked to be, in the fields that were asked for. What others have added is theirs.

use serde_json::{Map, Value};

use crate::quantity;

/// Whether everything in `desired` is in `live`.
pub fn is_satisfied(desired: &Value, live: &Value) -> bool {
    matches(desired, live, IsQuantity::No)
}

/// Amounts are kept in another spelling than they were sent in: 1024Mi as 1Gi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsQuantity {
    Yes,
    No,
}

fn matches(desired: &Value, live: &Value, is_quantity: IsQuantity) -> bool {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => fields(desired, live, is_quantity),
        (Value::Array(desired), Value::Array(live)) => lists(desired, live),
        (Value::String(desired), Value::String(live)) if is_quantity == IsQuantity::Yes => {
            quantity::is_same(desired, live)
        }
        _ => desired == live,
    }
}

fn fields(desired: &Map<String, Value>, live: &Map<String, Value>, is_quantity: IsQuantity) -> bool {
    desired.iter().all(|(name, desired)| match live.get(name) {
        Some(live) => matches(desired, live, quantity_below(name, is_quantity)),
        // An empty one is not kept at all.
        None => is_empty(desired),
    })
}

fn quantity_below(field: &str, above: IsQuantity) -> IsQuantity {
    match field {
        "requests" | "limits" | "sizeLimit" => IsQuantity::Yes,
        _ => above,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Items that have a key of their own (containers, volumes, ports) may stand beside others; all else has to be the same, in order.
fn lists(desired: &[Value], live: &[Value]) -> bool {
    match desired.iter().all(has_key) && !desired.is_empty() {
        true => desired.iter().all(|desired| live.iter().any(|live| matches(desired, live, IsQuantity::No))),
        false => {
            desired.len() == live.len()
                && desired.iter().zip(live).all(|(desired, live)| matches(desired, live, IsQuantity::No))
        }
    }
}

fn has_key(item: &Value) -> bool {
    ["name", "mountPath", "containerPort", "uid"].iter().any(|key| item.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_satisfied;

    #[test]
    fn what_was_asked_for_has_to_be_there() {
        for (desired, live, satisfied) in [
            (json!({"a": 1}), json!({"a": 1, "b": 2}), true),
            (json!({"a": 1}), json!({"a": 2}), false),
            (json!({"a": 1}), json!({}), false),
            (json!({"a": {}, "b": [], "c": null, "d": {"e": ""}}), json!({}), true),
            // An amount in another spelling, and a text that only looks like one.
            (json!({"limits": {"memory": "1024Mi"}}), json!({"limits": {"memory": "1Gi"}}), true),
            (json!({"limits": {"memory": "1Gi"}}), json!({"limits": {"memory": "2Gi"}}), false),
            (json!({"data": {"size": "1024Mi"}}), json!({"data": {"size": "1Gi"}}), false),
            // Others may add containers, not arguments.
            (
                json!({"containers": [{"name": "a", "image": "i"}]}),
                json!({"containers": [{"name": "b"}, {"name": "a", "image": "i", "tty": false}]}),
                true,
            ),
            (
                json!({"containers": [{"name": "a", "image": "i"}]}),
                json!({"containers": [{"name": "a", "image": "j"}]}),
                false,
            ),
            (json!({"args": ["a"]}), json!({"args": ["a", "b"]}), false),
            (json!({"tolerations": [{"key": "k"}]}), json!({"tolerations": [{"key": "k"}, {"key": "l"}]}), false),
            (json!({"from": [{"podSelector": {}}]}), json!({"from": [{"podSelector": {}}]}), true),
        ] {
            assert_eq!(is_satisfied(&desired, &live), satisfied, "{desired} {live}");
        }
    }
}

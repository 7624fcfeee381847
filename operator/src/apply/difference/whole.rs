//! Values that are compared as a whole, because any addition changes their meaning: one more label in a selector, or
//! one more selector in a peer of a NetworkPolicy.

use serde_json::{Map, Value};

use crate::quantity;

/// The maps that are compared as a whole. Lists without keys are too.
const ONE_VALUE: [&str; 12] = [
    "selector",
    "podSelector",
    "namespaceSelector",
    "labelSelector",
    "matchLabels",
    "matchExpressions",
    "nodeSelector",
    "secretKeyRef",
    "configMapKeyRef",
    "fieldRef",
    "resourceFieldRef",
    "requiredDuringSchedulingIgnoredDuringExecution",
];

/// Fields that have a meaning when they are empty: all pods, all namespaces, or an empty volume.
const SAYS_SOMETHING: [&str; 4] = ["podSelector", "namespaceSelector", "labelSelector", "emptyDir"];

/// Whether a field is compared as a whole.
pub(super) fn is_one_value(field: &str) -> bool {
    ONE_VALUE.contains(&field)
}

/// Whether a value equals the desired one, apart from the API server's normalisation.
pub(super) fn is_same(desired: &Value, live: &Value) -> bool {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => has_same_fields(desired, live),
        (Value::Array(desired), Value::Array(live)) => {
            desired.len() == live.len() && desired.iter().zip(live).all(|(desired, live)| is_same(desired, live))
        }
        _ => desired == live,
    }
}

fn has_same_fields(desired: &Map<String, Value>, live: &Map<String, Value>) -> bool {
    let is_asked_for = |(name, desired): (&String, &Value)| match live.get(name) {
        Some(live) => is_same(desired, live) || is_same_amount(name, desired, live),
        None => is_left_out(name, desired),
    };
    let added = live.iter().filter(|(name, _)| !desired.contains_key(*name));
    desired.iter().all(is_asked_for)
        && added.into_iter().all(|(name, live)| is_left_out(name, live) || is_default(name, live))
}

fn is_same_amount(field: &str, desired: &Value, live: &Value) -> bool {
    field == "divisor"
        && matches!((desired, live), (Value::String(desired), Value::String(live)) if quantity::is_same(desired, live))
}

/// Whether this is a default that the API server adds within such a value.
fn is_default(field: &str, value: &Value) -> bool {
    match field {
        // A port of a NetworkPolicy.
        "protocol" => value == "TCP",
        // A reference to a field of the pod.
        "apiVersion" => value == "v1",
        "divisor" => value == "0",
        // A service account token in a volume.
        "expirationSeconds" => value == 3600,
        _ => false,
    }
}

/// Whether the API server drops a field because it equals its default.
pub(super) fn is_left_out(field: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => {
            !SAYS_SOMETHING.contains(&field) && fields.iter().all(|(name, value)| is_left_out(name, value))
        }
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag && FLAGS.contains(&field),
        Value::Number(number) => number.as_i64() == Some(0) && NUMBERS.contains(&field),
    }
}

/// Fields of a pod whose default is false or 0, which the API server drops.
const FLAGS: [&str; 7] = ["readOnly", "tty", "stdin", "stdinOnce", "hostNetwork", "hostPID", "hostIPC"];
const NUMBERS: [&str; 2] = ["initialDelaySeconds", "hostPort"];

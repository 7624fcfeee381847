//! Values that Kubernetes takes as one: whatever others change in one changes what is meant by it, as one more label does in a selector, and one more
//! selector in a peer of a NetworkPolicy.

use serde_json::{Map, Value};

use crate::quantity;

/// The maps that are one value. So are lists, but for those whose items have keys.
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

/// What says something when it is empty, and something else when it is not there: every pod, every namespace, a folder of the pod's own.
const SAYS_SOMETHING: [&str; 4] = ["podSelector", "namespaceSelector", "labelSelector", "emptyDir"];

/// Whether a field is one value.
pub(super) fn is_one_value(field: &str) -> bool {
    ONE_VALUE.contains(&field)
}

/// Whether one value is what was asked for, as the API server keeps it.
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

/// What the API server fills in, within one value, where nothing was said.
fn is_default(field: &str, value: &Value) -> bool {
    match field {
        // Of a port of a NetworkPolicy.
        "protocol" => value == "TCP",
        // Of a field of the pod.
        "apiVersion" => value == "v1",
        "divisor" => value == "0",
        // Of a token in a volume.
        "expirationSeconds" => value == 3600,
        _ => false,
    }
}

/// Whether the API server does not keep a field, because it says nothing.
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

/// Fields of a pod that are not kept when they are false or 0, because they are that when they are not set.
const FLAGS: [&str; 7] = ["readOnly", "tty", "stdin", "stdinOnce", "hostNetwork", "hostPID", "hostIPC"];
const NUMBERS: [&str; 2] = ["initialDelaySeconds", "hostPort"];

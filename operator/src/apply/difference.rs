//! Whether an object is as it was asked to be, in the fields that were asked for. What others have added is theirs.

mod whole;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::quantity;
use whole::{is_left_out, is_one_value, is_same};

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
        (Value::String(desired), Value::String(live)) if is_quantity == IsQuantity::Yes => {
            quantity::is_same(desired, live)
        }
        // A list without keys is one value.
        _ => is_same(desired, live),
    }
}

fn fields(desired: &Map<String, Value>, live: &Map<String, Value>, is_quantity: IsQuantity) -> bool {
    desired.iter().all(|(name, desired)| match live.get(name) {
        Some(live) if is_one_value(name) => is_same(desired, live),
        Some(live) => match (desired, live) {
            (Value::Array(desired), Value::Array(live)) if has_keys(name, desired) => is_among(desired, live),
            _ => matches(desired, live, quantity_below(name, is_quantity)),
        },
        None => is_left_out(name, desired),
    })
}

/// Lists whose items may stand beside those of others, and what tells these apart. All other lists are one value.
const KEYS: [(&str, &str); 13] = [
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("imagePullSecrets", "name"),
    ("resourceClaims", "name"),
    // Those of containers have another key than those of a Service, and those of a NetworkPolicy have none.
    ("ports", "containerPort"),
    ("ports", "name"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("topologySpreadConstraints", "topologyKey"),
    ("hostAliases", "ip"),
    ("ownerReferences", "uid"),
];

fn quantity_below(field: &str, above: IsQuantity) -> IsQuantity {
    match field {
        "requests" | "limits" | "sizeLimit" => IsQuantity::Yes,
        _ => above,
    }
}

fn has_keys(list: &str, items: &[Value]) -> bool {
    let is_keyed = |key: &str| items.iter().all(|item| item.get(key).is_some());
    !items.is_empty() && KEYS.iter().any(|(name, key)| *name == list && is_keyed(key))
}

fn is_among(desired: &[Value], live: &[Value]) -> bool {
    desired.iter().all(|desired| live.iter().any(|live| matches(desired, live, IsQuantity::No)))
}

//! Compares the desired fields of an object with the live object. Additional fields of other managers are ignored.

mod whole;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::quantity;
use whole::{is_left_out, is_one_value, is_same};

/// Whether `live` has everything that `desired` has.
pub fn is_satisfied(desired: &Value, live: &Value) -> bool {
    matches(desired, live, IsQuantity::No)
}

/// Whether strings are quantities, which the API server may store in another notation: 1024Mi as 1Gi.
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
        // A list without keys is compared as a whole.
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

/// Lists that are merged item by item, with the key of an item. All other lists are compared as a whole.
const KEYS: [(&str, &str); 13] = [
    ("containers", "name"),
    ("initContainers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("imagePullSecrets", "name"),
    ("resourceClaims", "name"),
    // The ports of containers and of Services have different keys, and those of a NetworkPolicy have none.
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

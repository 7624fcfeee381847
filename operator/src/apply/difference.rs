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
        (Value::Array(desired), Value::Array(live)) => in_order(desired, live),
        (Value::String(desired), Value::String(live)) if is_quantity == IsQuantity::Yes => {
            quantity::is_same(desired, live)
        }
        _ => desired == live,
    }
}

fn fields(desired: &Map<String, Value>, live: &Map<String, Value>, is_quantity: IsQuantity) -> bool {
    desired.iter().all(|(name, desired)| match live.get(name) {
        Some(live) if ATOMIC.contains(&name.as_str()) => without_empty(desired) == without_empty(live),
        Some(live) => match (desired, live) {
            (Value::Array(desired), Value::Array(live)) if has_keys(name, desired) => is_among(desired, live),
            _ => matches(desired, live, quantity_below(name, is_quantity)),
        },
        // An empty one is not kept at all.
        None => is_empty(desired) || is_dropped(name, desired),
    })
}

/// Fields that the API server takes as one value: what others add to them changes what is meant, as one more label does in a selector.
const ATOMIC: [&str; 9] = [
    "selector",
    "podSelector",
    "namespaceSelector",
    "labelSelector",
    "matchLabels",
    "matchExpressions",
    "nodeSelector",
    "secretKeyRef",
    "configMapKeyRef",
];

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

/// The same without what is not kept because it is empty.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, field)| !is_empty(field));
            kept.map(|(name, field)| (name.clone(), without_empty(field))).collect()
        }
        other => other.clone(),
    }
}

fn quantity_below(field: &str, above: IsQuantity) -> IsQuantity {
    match field {
        "requests" | "limits" | "sizeLimit" => IsQuantity::Yes,
        _ => above,
    }
}

/// Fields of a pod that are not kept when they are false or 0, because they are that when they are not set.
fn is_dropped(field: &str, value: &Value) -> bool {
    const FLAGS: [&str; 7] = ["readOnly", "tty", "stdin", "stdinOnce", "hostNetwork", "hostPID", "hostIPC"];
    const NUMBERS: [&str; 2] = ["initialDelaySeconds", "hostPort"];
    match value {
        Value::Bool(false) => FLAGS.contains(&field),
        Value::Number(number) => NUMBERS.contains(&field) && number.as_i64() == Some(0),
        _ => false,
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

fn has_keys(list: &str, items: &[Value]) -> bool {
    let is_keyed = |key: &str| items.iter().all(|item| item.get(key).is_some());
    !items.is_empty() && KEYS.iter().any(|(name, key)| *name == list && is_keyed(key))
}

fn is_among(desired: &[Value], live: &[Value]) -> bool {
    desired.iter().all(|desired| live.iter().any(|live| matches(desired, live, IsQuantity::No)))
}

fn in_order(desired: &[Value], live: &[Value]) -> bool {
    desired.len() == live.len()
        && desired.iter().zip(live).all(|(desired, live)| matches(desired, live, IsQuantity::No))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

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
            (json!({"hostAliases": [{"ip": "::1"}]}), json!({"hostAliases": [{"ip": "::2"}, {"ip": "::1"}]}), true),
            (
                json!({"topologySpreadConstraints": [{"topologyKey": "zone"}]}),
                json!({"topologySpreadConstraints": [{"topologyKey": "host"}, {"topologyKey": "zone"}]}),
                true,
            ),
            // A name is no key in these.
            (json!({"sysctls": [{"name": "a"}]}), json!({"sysctls": [{"name": "a"}, {"name": "b"}]}), false),
            (json!({"httpHeaders": [{"name": "a"}]}), json!({"httpHeaders": [{"name": "b"}, {"name": "a"}]}), false),
            (json!({"ports": [{"port": 53}]}), json!({"ports": [{"port": 53}, {"port": 54}]}), false),
            (
                json!({"secretKeyRef": {"name": "a", "key": "k"}}),
                json!({"secretKeyRef": {"name": "a", "key": "k", "optional": true}}),
                false,
            ),
            (json!({"tolerations": [{"key": "k"}]}), json!({"tolerations": [{"key": "k"}, {"key": "l"}]}), false),
            (json!({"from": [{"podSelector": {}}]}), json!({"from": [{"podSelector": {}}]}), true),
            // A selector is one value.
            (json!({"selector": {"a": "b"}}), json!({"selector": {"a": "b", "c": "d"}}), false),
            (
                json!({"podSelector": {"matchLabels": {"a": "b"}}}),
                json!({"podSelector": {"matchLabels": {"a": "b", "c": "d"}}}),
                false,
            ),
            (
                json!({"podSelector": {"matchLabels": {"a": "b"}}}),
                json!({"podSelector": {"matchLabels": {"a": "b"}, "matchExpressions": []}}),
                true,
            ),
            (json!({"nodeSelector": {"a": "b"}}), json!({"nodeSelector": {"a": "b", "c": "d"}}), false),
            (json!({"namespaceSelector": {}}), json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}), false),
            // What is false by its nature is not kept; of the others false is an answer of its own.
            (
                json!({"volumeMounts": [{"mountPath": "/a", "readOnly": false}]}),
                json!({"volumeMounts": [{"mountPath": "/a"}]}),
                true,
            ),
            (json!({"readOnly": true}), json!({}), false),
            (json!({"readOnly": false}), json!({"readOnly": true}), false),
            (json!({"automountServiceAccountToken": false}), json!({}), false),
            (json!({"initialDelaySeconds": 0}), json!({}), true),
            (json!({"replicas": 0}), json!({}), false),
        ] {
            assert_eq!(is_satisfied(&desired, &live), satisfied, "{desired} {live}");
        }
    }

    /// Objects as they are applied: fields of all kinds, lists with keys and without.
    fn object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (1..1000_i64).prop_map(Value::from),
            "[a-z]{1,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let fields = prop::collection::btree_map("[a-d]{1,2}", inner.clone(), 1..4);
            let named = prop::collection::btree_map("[a-z]{1,4}", fields.clone(), 1..4).prop_map(|items| {
                let named = |(name, fields): (String, BTreeMap<String, Value>)| {
                    Value::Object(fields.into_iter().chain([("name".to_owned(), Value::from(name))]).collect())
                };
                json!({"containers": items.into_iter().map(named).collect::<Value>()})
            });
            let plain = prop::collection::vec(inner, 1..4).prop_map(Value::from);
            prop_oneof![fields.prop_map(|fields| Value::Object(fields.into_iter().collect())), named, plain]
        })
    }

    /// With fields, and items that have a key, that nobody asked for.
    fn with_more(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let more = [("theirs".to_owned(), json!({"a": 1}))];
                let field = |(name, field): (&String, &Value)| match field {
                    Value::Array(items) if name == "containers" => {
                        let theirs = [json!({"name": "theirs"})];
                        (name.clone(), theirs.into_iter().chain(items.iter().map(with_more)).collect())
                    }
                    field => (name.clone(), with_more(field)),
                };
                fields.iter().map(field).chain(more).collect()
            }
            Value::Array(items) => items.iter().map(with_more).collect(),
            other => other.clone(),
        }
    }

    /// Every value that comes of one by changing or removing one thing in it.
    fn changed(value: &Value) -> Vec<Value> {
        match value {
            Value::Object(fields) => fields
                .iter()
                .flat_map(|(name, field)| {
                    let mut without = fields.clone();
                    without.remove(name);
                    let others = changed(field).into_iter().map(|other| {
                        let mut fields = fields.clone();
                        fields.insert(name.clone(), other);
                        Value::Object(fields)
                    });
                    others.chain([Value::Object(without)]).collect::<Vec<_>>()
                })
                .collect(),
            Value::Array(items) => (0..items.len())
                .flat_map(|at| {
                    let mut without = items.clone();
                    without.remove(at);
                    let others = changed(&items[at]).into_iter().map(|other| {
                        let mut items = items.clone();
                        items[at] = other;
                        Value::Array(items)
                    });
                    others.chain([Value::Array(without)]).collect::<Vec<_>>()
                })
                .collect(),
            Value::Bool(flag) => vec![json!(!flag)],
            other => vec![json!([other.clone(), "changed"])],
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_others_add_it_is_satisfied(desired in object()) {
            prop_assert!(is_satisfied(&desired, &desired));
            prop_assert!(is_satisfied(&desired, &with_more(&desired)));
        }

        #[test]
        fn whatever_of_ones_own_is_changed_is_seen(desired in object()) {
            for live in changed(&desired) {
                prop_assert!(!is_satisfied(&desired, &live), "{}", live);
                prop_assert!(!is_satisfied(&desired, &with_more(&live)), "{}", live);
            }
        }
    }
}

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::is_satisfied;

#[test]
fn desired_fields_must_be_in_the_live_object() {
    for (desired, live, satisfied) in [
        (json!({"a": 1}), json!({"a": 1, "b": 2}), true),
        (json!({"a": 1}), json!({"a": 2}), false),
        (json!({"a": 1}), json!({}), false),
        (json!({"a": {}, "b": [], "c": null, "d": {"e": ""}}), json!({}), true),
        // The same quantity in another notation, and a string that only looks like a quantity.
        (json!({"limits": {"memory": "1024Mi"}}), json!({"limits": {"memory": "1Gi"}}), true),
        (json!({"limits": {"memory": "1Gi"}}), json!({"limits": {"memory": "2Gi"}}), false),
        (json!({"data": {"size": "1024Mi"}}), json!({"data": {"size": "1Gi"}}), false),
        // Other managers may add containers, but not arguments.
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
        // These lists have no key, although their items have names.
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
        // A selector is compared as a whole.
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
        // A list without keys is compared as a whole, including all fields of its items.
        (
            json!({"from": [{"podSelector": {}}]}),
            json!({"from": [{"podSelector": {}, "namespaceSelector": {}}]}),
            false,
        ),
        (json!({"from": [{"podSelector": {}}]}), json!({"from": [{"namespaceSelector": {}}]}), false),
        (json!({"from": [{"podSelector": {}}]}), json!({"from": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}), false),
        (json!({"from": [{"podSelector": {}}]}), json!({"from": [{}]}), false),
        (
            json!({"to": [{"ipBlock": {"cidr": "a", "except": ["b"]}}]}),
            json!({"to": [{"ipBlock": {"cidr": "a"}}]}),
            false,
        ),
        (json!({"ingress": [{"from": [{"podSelector": {}}]}]}), json!({"ingress": [{}]}), false),
        (json!({"ports": [{"port": 53}]}), json!({"ports": [{"port": 53, "endPort": 60}]}), false),
        (json!({"ports": [{"port": 53}]}), json!({"ports": [{"port": 53, "protocol": "TCP"}]}), true),
        (json!({"ports": [{"port": 53}]}), json!({"ports": [{"port": 53, "protocol": "UDP"}]}), false),
        (json!({"tolerations": [{"key": "k"}]}), json!({"tolerations": [{"key": "k", "operator": "Exists"}]}), false),
        (json!({"tolerations": [{"key": "k", "value": ""}]}), json!({"tolerations": [{"key": "k"}]}), true),
        (
            json!({"valueFrom": {"fieldRef": {"fieldPath": "a"}}}),
            json!({"valueFrom": {"fieldRef": {"fieldPath": "a", "apiVersion": "v1"}}}),
            true,
        ),
        (
            json!({"resourceFieldRef": {"resource": "a", "divisor": "1024Mi"}}),
            json!({"resourceFieldRef": {"resource": "a", "divisor": "1Gi"}}),
            true,
        ),
        (
            json!({"resourceFieldRef": {"resource": "a"}}),
            json!({"resourceFieldRef": {"resource": "a", "divisor": "0"}}),
            true,
        ),
        (
            json!({"resourceFieldRef": {"resource": "a"}}),
            json!({"resourceFieldRef": {"resource": "a", "divisor": "1"}}),
            false,
        ),
        (
            json!({"secretKeyRef": {"name": "1024Mi", "key": "k"}}),
            json!({"secretKeyRef": {"name": "1Gi", "key": "k"}}),
            false,
        ),
        (
            json!({"sources": [{"serviceAccountToken": {"path": "a"}}]}),
            json!({"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 3600}}]}),
            true,
        ),
        (
            json!({"sources": [{"serviceAccountToken": {"path": "a"}}]}),
            json!({"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 600}}]}),
            false,
        ),
        // An empty value that has a meaning is not the same as a missing one.
        (json!({"name": "data", "emptyDir": {}}), json!({"name": "data", "hostPath": {"path": "/"}}), false),
        (json!({"maxSkew": 1, "labelSelector": {}}), json!({"maxSkew": 1}), false),
        (json!({"resources": {}, "securityContext": {}}), json!({}), true),
        // The API server drops false for some fields, and keeps it for others.
        (
            json!({"volumeMounts": [{"mountPath": "/a", "readOnly": false}]}),
            json!({"volumeMounts": [{"mountPath": "/a"}]}),
            true,
        ),
        (json!({"readOnly": true}), json!({}), false),
        (json!({"readOnly": false}), json!({"readOnly": true}), false),
        (json!({"automountServiceAccountToken": false}), json!({}), false),
        (json!({"initialDelaySeconds": 0}), json!({}), true),
        (json!({"initialDelaySeconds": 5}), json!({}), false),
        (json!({"replicas": 0}), json!({}), false),
    ] {
        assert_eq!(is_satisfied(&desired, &live), satisfied, "{desired} {live}");
    }
}

/// Objects with fields of all kinds, lists with keys and lists without.
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

/// The object with additional fields and list items.
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
        other => other.clone(),
    }
}

/// All values that differ from this one in a single change or removal.
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
    fn additions_of_others_are_ignored(desired in object()) {
        prop_assert!(is_satisfied(&desired, &desired));
        prop_assert!(is_satisfied(&desired, &with_more(&desired)));
    }

    #[test]
    fn additions_within_one_value_are_a_difference(desired in object()) {
        let item = |more: bool| if more { json!({"a": desired, "theirs": 1}) } else { json!({"a": desired}) };
        for field in ["from", "selector", "unknown"] {
            let list = |more| json!({field: [item(more)]});
            let is_seen = !is_satisfied(&list(false), &list(true));
            prop_assert!(is_satisfied(&list(false), &list(false)) && is_seen);
        }
    }

    #[test]
    fn every_change_of_a_desired_field_is_a_difference(desired in object()) {
        for live in changed(&desired) {
            prop_assert!(!is_satisfied(&desired, &live), "{}", live);
            prop_assert!(!is_satisfied(&desired, &with_more(&live)), "{}", live);
        }
    }
}

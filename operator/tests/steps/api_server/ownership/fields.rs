//! The fields of an object by path, in the notation of `fieldsV1`. An atomic list or map is one field.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The steps to a field: `f:spec`, `f:containers`, `k:{"name":"server"}`, `f:image`.
pub type Path = Vec<String>;

/// The kind of value at a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// An object with fields.
    Fields,
    /// A list item with fields. A writer also owns its presence.
    Item,
    /// A scalar or an atomic value.
    Value(Value),
}

impl Node {
    /// Whether an apply owns the node itself. Of an object it owns only the fields inside.
    pub fn is_owned(&self) -> bool {
        !matches!(self, Self::Fields)
    }
}

/// The lists with `x-kubernetes-list-type: map` in Kubernetes' OpenAPI, with the keys that identify their items.
/// The finalizers are a set and have no keys. All other lists are atomic.
const KEYS: [(&str, &[&str]); 20] = [
    ("claims", &["name"]),
    ("conditions", &["type"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("ownerReferences", &["uid"]),
    // The ports of a container, then those of a Service.
    ("ports", &["containerPort", "protocol"]),
    ("ports", &["port", "protocol"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("secrets", &["name"]),
    // The sources of an Index.
    ("sources", &["name"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("finalizers", &[]),
];

/// The maps with `x-kubernetes-map-type: atomic`.
const ATOMIC: [&str; 11] = [
    "configMapKeyRef",
    "dataSource",
    "fieldRef",
    "labelSelector",
    "namespaceSelector",
    "nodeSelector",
    "podSelector",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "resourceFieldRef",
    "secretKeyRef",
    "selector",
];

/// The lists with atomic items.
const ATOMIC_ITEMS: [&str; 4] = ["finalizers", "imagePullSecrets", "ownerReferences", "secrets"];

/// Every field of an object.
pub fn fields(object: &Value) -> BTreeMap<Path, Node> {
    let mut found = BTreeMap::new();
    for (name, field) in object.as_object().into_iter().flatten() {
        collect(name, field, vec![format!("f:{name}")], &mut found);
    }
    found
}

fn collect(name: &str, value: &Value, at: Path, found: &mut BTreeMap<Path, Node>) {
    let beside = |step: String| at.iter().cloned().chain([step]).collect::<Path>();
    match value {
        Value::Object(fields) if !fields.is_empty() && !ATOMIC.contains(&name) => {
            for (name, field) in fields {
                collect(name, field, beside(format!("f:{name}")), found);
            }
            found.entry(at).or_insert(Node::Fields);
        }
        Value::Array(items) if items.iter().any(|item| step(name, item).is_some()) => {
            for (item, step) in items.iter().filter_map(|item| Some((item, step(name, item)?))) {
                let at = beside(step);
                if ATOMIC_ITEMS.contains(&name) {
                    found.insert(at, Node::Value(item.clone()));
                } else {
                    found.insert(at.clone(), Node::Item);
                    collect("", item, at, found);
                }
            }
            found.insert(at, Node::Fields);
        }
        Value::Null => {}
        value => drop(found.insert(at, Node::Value(value.clone()))),
    }
}

/// The path step of an item of this list, or `None` if the list is atomic.
fn step(list: &str, item: &Value) -> Option<String> {
    let (_, keys) =
        KEYS.iter().find(|(name, keys)| *name == list && keys.first().is_none_or(|key| item.get(key).is_some()))?;
    if keys.is_empty() {
        return Some(format!("v:{item}"));
    }
    let key = |key: &&str| {
        let default = if *key == "protocol" { json!("TCP") } else { Value::Null };
        ((*key).to_owned(), item.get(key).cloned().unwrap_or(default))
    };
    Some(format!("k:{}", Value::Object(keys.iter().map(key).collect())))
}

/// Merges sent fields into the live object. Fields that were not sent stay.
pub fn merge(live: &mut Value, sent: &Value) {
    merge_field("", live, sent);
}

fn merge_field(name: &str, live: &mut Value, sent: &Value) {
    match (live, sent) {
        (Value::Object(live), Value::Object(sent)) if !sent.is_empty() && !ATOMIC.contains(&name) => {
            for (name, sent) in sent {
                merge_field(name, live.entry(name).or_insert(Value::Null), sent);
            }
        }
        (Value::Array(live), Value::Array(sent)) if sent.iter().any(|item| step(name, item).is_some()) => {
            for item in sent {
                let same = live.iter_mut().find(|live| step(name, live) == step(name, item));
                match same {
                    Some(live) if ATOMIC_ITEMS.contains(&name) => *live = item.clone(),
                    Some(live) => merge_field("", live, item),
                    None => live.push(item.clone()),
                }
            }
        }
        // An object that is sent empty changes none of its fields.
        (Value::Object(_), Value::Object(sent)) if sent.is_empty() && !ATOMIC.contains(&name) => {}
        (live, sent) => *live = sent.clone(),
    }
}

/// Removes a field with everything below it.
pub fn remove(object: &mut Value, path: &[String]) {
    let Some((last, parents)) = path.split_last() else { return };
    let (mut place, mut list) = (object, "");
    for (at, part) in parents.iter().enumerate() {
        let found = match part.strip_prefix("f:") {
            Some(name) => place.get_mut(name),
            None => {
                let items = place.as_array_mut().into_iter().flatten();
                items.into_iter().find(|item| step(list, item).as_ref() == Some(part))
            }
        };
        let Some(found) = found else { return };
        place = found;
        list = parents[at].strip_prefix("f:").unwrap_or_default();
    }
    match (last.strip_prefix("f:"), place) {
        (Some(name), Value::Object(fields)) => drop(fields.remove(name)),
        (None, Value::Array(items)) => items.retain(|item| step(list, item).as_ref() != Some(last)),
        _ => {}
    }
}

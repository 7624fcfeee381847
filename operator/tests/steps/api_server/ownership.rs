//! Field ownership as in server-side apply: the effect of an apply, and of any other write, on fields and owners.

mod fields;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde_json::{Map, Value, json};

use self::fields::{Path, fields, merge, remove};

/// The manager and operation of a write. The field order gives the sort order of `managedFields`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer {
    pub operation: Operation,
    pub manager: String,
    /// `status` or `scale`; empty for the object itself.
    pub subresource: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Apply,
    Update,
}

impl Writer {
    /// A user who edits an object with kubectl.
    pub fn by_hand() -> Self {
        Self { operation: Operation::Update, manager: "kubectl-edit".to_owned(), subresource: String::new() }
    }

    /// Whether this writer may write a field: the `status` subresource writes `status` and no other field.
    fn may_write(&self, path: &Path) -> bool {
        !UNOWNED.iter().any(|unowned| path.iter().eq(unowned.iter()))
            && (path[0] == "f:status") == (self.subresource == "status")
    }

    /// The part of a sent object that this writer writes.
    fn part(&self, sent: &Value) -> Value {
        let fields = sent.as_object().into_iter().flatten();
        let part = fields.filter(|(name, _)| (*name == "status") == (self.subresource == "status"));
        part.map(|(name, field)| (name.clone(), field.clone())).collect()
    }
}

/// Fields without owners: those that identify an object, and those that the server sets.
const UNOWNED: [&[&str]; 11] = [
    &["f:apiVersion"],
    &["f:kind"],
    &["f:metadata"],
    &["f:metadata", "f:name"],
    &["f:metadata", "f:namespace"],
    &["f:metadata", "f:creationTimestamp"],
    &["f:metadata", "f:deletionTimestamp"],
    &["f:metadata", "f:uid"],
    &["f:metadata", "f:generation"],
    &["f:metadata", "f:managedFields"],
    &["f:metadata", "f:resourceVersion"],
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Owned {
    fields: BTreeSet<Path>,
    time: Value,
}

/// The owners of one object's fields. A field may have several, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owners(BTreeMap<Writer, Owned>);

impl Owners {
    /// The owners in an object's `managedFields`.
    pub fn of(object: &Value) -> Self {
        let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        let owner = |entry: &Value| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let operation = if entry["operation"] == "Apply" { Operation::Apply } else { Operation::Update };
            let writer = Writer { operation, manager: text("manager"), subresource: text("subresource") };
            let mut owned = Owned { fields: BTreeSet::new(), time: entry["time"].clone() };
            read_fields_v1(&entry["fieldsV1"], &Path::new(), &mut owned.fields);
            (writer, owned)
        };
        // A client removes all owners by sending one empty entry.
        Self(entries.map(owner).filter(|(_, owned)| !owned.fields.is_empty()).collect())
    }

    /// The owners in the format of `managedFields`.
    pub fn entries(&self) -> Value {
        let entry = |(writer, owned): (&Writer, &Owned)| {
            let mut entry = json!({
                "manager": writer.manager, "operation": format!("{:?}", writer.operation), "time": owned.time,
                "fieldsType": "FieldsV1", "fieldsV1": fields_v1(&owned.fields),
            });
            if !writer.subresource.is_empty() {
                entry["subresource"] = json!(writer.subresource);
            }
            entry
        };
        self.0.iter().map(entry).collect()
    }

    /// The owners after an update. The writer becomes the only owner of new and changed fields. Removed fields lose
    /// their owners.
    pub fn after_update(mut self, writer: &Writer, live: &Value, new: &Value, now: &str) -> Self {
        let (mut taken, removed) = differences(live, new);
        taken.retain(|path| writer.may_write(path));
        for owned in self.0.values_mut() {
            owned.fields.retain(|path| !taken.contains(path) && !removed.contains(path));
        }
        if !taken.is_empty() {
            let owned = self.0.entry(writer.clone()).or_default();
            owned.fields.extend(taken);
            owned.time = json!(now);
        }
        self.without_empty()
    }

    fn without_empty(mut self) -> Self {
        self.0.retain(|_, owned| !owned.fields.is_empty());
        self
    }
}

/// The object and its owners after an apply. Without force, a conflict returns the managers that own the fields.
pub fn apply(
    live: &Value,
    sent: &Value,
    writer: &Writer,
    is_forced: bool,
    now: &str,
) -> Result<(Value, Owners), Vec<String>> {
    let mut owners = Owners::of(live);
    let before = owners.0.remove(writer).unwrap_or_default();
    let sent = writer.part(sent);
    let applied: BTreeSet<Path> = fields(&sent)
        .into_iter()
        .filter(|(path, node)| node.is_owned() && writer.may_write(path))
        .map(|(path, _)| path)
        .collect();

    let mut object = live.clone();
    merge(&mut object, &sent);
    let kept: BTreeSet<Path> =
        owners.0.values().flat_map(|owned| &owned.fields).chain(&applied).flat_map(prefixes).collect();
    let given_up =
        before.fields.iter().flat_map(prefixes).filter(|path| writer.may_write(path) && !kept.contains(path));
    for path in given_up {
        remove(&mut object, &path);
    }

    let (taken, removed) = differences(live, &object);
    let loses = |owned: &Owned| owned.fields.iter().any(|path| taken.contains(path));
    let losers: Vec<String> =
        owners.0.iter().filter(|(_, owned)| loses(owned)).map(|(other, _)| other.manager.clone()).collect();
    if !is_forced && !losers.is_empty() {
        return Err(losers);
    }
    for owned in owners.0.values_mut() {
        owned.fields.retain(|path| !taken.contains(path) && !removed.contains(path));
    }
    let is_same = taken.is_empty() && removed.is_empty() && applied == before.fields;
    owners.0.insert(writer.clone(), Owned { fields: applied, time: if is_same { before.time } else { json!(now) } });
    Ok((object, owners.without_empty()))
}

/// The new and changed fields, and the removed ones.
fn differences(live: &Value, new: &Value) -> (BTreeSet<Path>, BTreeSet<Path>) {
    let (live, new) = (fields(live), fields(new));
    let taken = new.iter().filter(|(path, node)| live.get(*path) != Some(node)).map(|(path, _)| path.clone());
    let removed = live.keys().filter(|path| !new.contains_key(*path)).cloned();
    (taken.collect(), removed.collect())
}

/// The path of a field and the paths of all its parents.
fn prefixes(path: &Path) -> impl Iterator<Item = Path> {
    (1..=path.len()).map(|length| path[..length].to_vec())
}

/// Reads `fieldsV1` into a set: each leaf is a field, and so is each node that contains a `.`.
fn read_fields_v1(tree: &Value, at: &Path, found: &mut BTreeSet<Path>) {
    for (step, below) in tree.as_object().into_iter().flatten() {
        let path: Path = at.iter().chain([step]).cloned().collect();
        if !below.as_object().is_none_or(Map::is_empty) {
            read_fields_v1(below, &path, found);
        } else if step == "." {
            found.insert(at.clone());
        } else {
            found.insert(path);
        }
    }
}

fn fields_v1(fields: &BTreeSet<Path>) -> Value {
    let mut tree = json!({});
    for path in fields {
        let place = path.iter().fold(&mut tree, |tree, step| {
            if tree[step].is_null() {
                tree[step] = json!({});
            }
            &mut tree[step]
        });
        let next = fields.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded)).next();
        if next.is_some_and(|next| next.starts_with(path)) {
            place["."] = json!({});
        }
    }
    tree
}

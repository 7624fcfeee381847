//! Who owns which field of an object, as server-side apply reckons it: what an apply leaves, and what any other write takes.

mod fields;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde_json::{Map, Value, json};

use self::fields::{Path, fields, merge, remove};

/// Who writes, and how. The order is that of `managedFields`.
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
    /// Somebody who changes an object by hand.
    pub fn by_hand() -> Self {
        Self { operation: Operation::Update, manager: "kubectl-edit".to_owned(), subresource: String::new() }
    }

    /// What stands below `status` is written by that name only, and by that name nothing else.
    fn may_write(&self, path: &Path) -> bool {
        !UNOWNED.iter().any(|unowned| path.iter().eq(unowned.iter()))
            && (path[0] == "f:status") == (self.subresource == "status")
    }

    /// What of an object counts that is sent.
    fn part(&self, sent: &Value) -> Value {
        let fields = sent.as_object().into_iter().flatten();
        let part = fields.filter(|(name, _)| (*name == "status") == (self.subresource == "status"));
        part.map(|(name, field)| (name.clone(), field.clone())).collect()
    }
}

/// What names an object, and what the server itself keeps of it.
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
    /// Those that an object says it has.
    pub fn of(object: &Value) -> Self {
        let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
        let owner = |entry: &Value| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let operation = if entry["operation"] == "Apply" { Operation::Apply } else { Operation::Update };
            let writer = Writer { operation, manager: text("manager"), subresource: text("subresource") };
            let mut owned = Owned { fields: BTreeSet::new(), time: entry["time"].clone() };
            read(&entry["fieldsV1"], &Path::new(), &mut owned.fields);
            (writer, owned)
        };
        // A list of one empty entry is how all owners are taken away.
        Self(entries.map(owner).filter(|(_, owned)| !owned.fields.is_empty()).collect())
    }

    /// As `managedFields` has them.
    pub fn entries(&self) -> Value {
        let entry = |(writer, owned): (&Writer, &Owned)| {
            let mut entry = json!({
                "manager": writer.manager, "operation": format!("{:?}", writer.operation), "time": owned.time,
                "fieldsType": "FieldsV1", "fieldsV1": written(&owned.fields),
            });
            if !writer.subresource.is_empty() {
                entry["subresource"] = json!(writer.subresource);
            }
            entry
        };
        self.0.iter().map(entry).collect()
    }

    /// After a write that says what the whole object is to be: what is new or other is the writer's alone, what is gone is nobody's.
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
        self.without_idle()
    }

    fn without_idle(mut self) -> Self {
        self.0.retain(|_, owned| !owned.fields.is_empty());
        self
    }
}

/// What an apply leaves of an object, and its owners; or the managers of the fields that it would have to take by force.
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
    let asked: BTreeSet<Path> = fields(&sent)
        .into_iter()
        .filter(|(path, node)| node.is_owned() && writer.may_write(path))
        .map(|(path, _)| path)
        .collect();

    let mut object = live.clone();
    merge(&mut object, &sent);
    let kept: BTreeSet<Path> = owners.0.values().flat_map(|owned| &owned.fields).chain(&asked).flat_map(ways).collect();
    let let_go = before.fields.iter().flat_map(ways).filter(|path| writer.may_write(path) && !kept.contains(path));
    for path in let_go {
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
    let is_same = taken.is_empty() && removed.is_empty() && asked == before.fields;
    owners.0.insert(writer.clone(), Owned { fields: asked, time: if is_same { before.time } else { json!(now) } });
    Ok((object, owners.without_idle()))
}

/// The fields that are new or other, and those that are gone.
fn differences(live: &Value, new: &Value) -> (BTreeSet<Path>, BTreeSet<Path>) {
    let (live, new) = (fields(live), fields(new));
    let taken = new.iter().filter(|(path, node)| live.get(*path) != Some(node)).map(|(path, _)| path.clone());
    let removed = live.keys().filter(|path| !new.contains_key(*path)).cloned();
    (taken.collect(), removed.collect())
}

/// A field, and all that it stands in.
fn ways(path: &Path) -> impl Iterator<Item = Path> {
    (1..=path.len()).map(|length| path[..length].to_vec())
}

/// `fieldsV1` as a set: a leaf is a field, and what has a `.` in it is one too.
fn read(tree: &Value, at: &Path, found: &mut BTreeSet<Path>) {
    for (step, below) in tree.as_object().into_iter().flatten() {
        let path: Path = at.iter().chain([step]).cloned().collect();
        match below.as_object().is_none_or(Map::is_empty) {
            true if step == "." => drop(found.insert(at.clone())),
            true => drop(found.insert(path)),
            false => read(below, &path, found),
        }
    }
}

fn written(fields: &BTreeSet<Path>) -> Value {
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

//! Merges the operator's entries of `managedFields` into one, so that fields which are no longer applied are removed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Value, json};

use super::REPAIRER;
use crate::names::FIELD_MANAGER;

/// The entries with all fields of the operator in its apply entry. `None` if there is nothing to merge.
pub(super) fn owned_once(entries: &[ManagedFieldsEntry]) -> Option<Vec<ManagedFieldsEntry>> {
    let (second, mut kept): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(is_second);
    if second.is_empty() {
        return None;
    }
    if let Some(fields) = kept.iter_mut().find(|entry| is_applied(entry)).and_then(|entry| entry.fields_v1.as_mut()) {
        second.into_iter().filter_map(|entry| entry.fields_v1).for_each(|more| add(&mut fields.0, more.0));
    }
    Some(kept)
}

/// Whether the operator owns these fields through an update instead of an apply.
fn is_second(entry: &ManagedFieldsEntry) -> bool {
    let is_update = entry.operation.as_deref() == Some("Update") && entry.subresource.is_none();
    is_update && matches!(entry.manager.as_deref(), Some(FIELD_MANAGER | REPAIRER))
}

fn is_applied(entry: &ManagedFieldsEntry) -> bool {
    let is_apply = entry.operation.as_deref() == Some("Apply") && entry.subresource.is_none();
    is_apply && entry.manager.as_deref() == Some(FIELD_MANAGER)
}

/// Adds one set of fields to another. An empty object is a field itself; `.` marks a field that also has nested fields.
fn add(fields: &mut Value, more: Value) {
    let (Value::Object(fields), Value::Object(more)) = (fields, more) else { return };
    if fields.is_empty() != more.is_empty() {
        fields.insert(".".to_owned(), json!({}));
    }
    for (name, more) in more {
        match fields.get_mut(&name) {
            Some(fields) => add(fields, more),
            None => drop(fields.insert(name, more)),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;

    use super::*;

    fn entry(manager: &str, operation: &str, subresource: Option<&str>, fields: Value) -> ManagedFieldsEntry {
        ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            operation: Some(operation.to_owned()),
            subresource: subresource.map(str::to_owned),
            fields_v1: Some(FieldsV1(fields)),
            ..ManagedFieldsEntry::default()
        }
    }

    #[test]
    fn fields_of_updates_are_merged_into_the_apply_entry() {
        let list = |more: Value| json!({"f:spec": {"f:containers": {"k:{\"name\":\"server\"}": more}}});
        let applied = list(json!({".": {}, "f:image": {}, "f:resources": {}}));
        let others = [
            entry(FIELD_MANAGER, "Update", Some("scale"), json!({"f:spec": {"f:replicas": {}}})),
            entry("kubectl-edit", "Update", None, json!({"f:data": {}})),
        ];
        let ours = |fields| entry(FIELD_MANAGER, "Apply", None, fields);
        let [scaled, edited] = others.clone();
        assert_eq!(owned_once(&[ours(applied.clone()), scaled.clone(), edited.clone()]), None);
        let written = entry(FIELD_MANAGER, "Update", None, list(json!({"f:env": {".": {}, "f:a": {}}})));
        let repaired = entry(REPAIRER, "Update", None, list(json!({"f:resources": {"f:limits": {}}})));
        let all = list(json!({
            ".": {}, "f:image": {}, "f:env": {".": {}, "f:a": {}}, "f:resources": {".": {}, "f:limits": {}},
        }));
        assert_eq!(
            owned_once(&[ours(applied), scaled.clone(), written, edited.clone(), repaired]),
            Some(vec![ours(all), scaled, edited])
        );
    }
}

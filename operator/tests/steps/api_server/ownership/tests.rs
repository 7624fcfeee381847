use serde_json::{Value, json};

use super::super::apply::canonical;
use super::{Operation, Owners, Writer, apply};

/// Writes to a real API server, with their results.
fn recorded_writes() -> Vec<Value> {
    serde_saphyr::from_str(include_str!("recorded.yaml")).unwrap()
}

fn kept(step: &Value) -> Value {
    let mut kept = json!({"metadata": step["metadata"], "spec": step["spec"]});
    kept["metadata"]["managedFields"] = step["owners"].clone();
    kept
}

fn writer(step: &Value) -> Writer {
    let text = |field: &str| step["by"][field].as_str().unwrap_or_default().to_owned();
    let operation = if text("operation") == "Apply" { Operation::Apply } else { Operation::Update };
    Writer { operation, manager: text("manager"), subresource: text("subresource") }
}

/// The `managedFields` without their times, in a fixed order.
fn owners(object: &Value) -> Vec<Value> {
    let mut entries = Owners::of(object).entries().as_array().unwrap().clone();
    entries.iter_mut().for_each(|entry| drop(entry.as_object_mut().unwrap().remove("time")));
    entries
}

#[test]
fn owners_and_fields_match_a_real_server() {
    let mut live = Value::Null;
    for step in recorded_writes() {
        let (what, expected) = (step["what"].as_str().unwrap(), kept(&step));
        if live["metadata"]["name"] != expected["metadata"]["name"] {
            live = Value::Null;
        }
        let writer = writer(&step);
        let mut object = expected.clone();
        object["metadata"]["managedFields"] = match writer.operation {
            Operation::Apply => {
                let (applied, owners) = apply(&live, &step["sent"], &writer, true, "now").unwrap();
                // The server adds defaults to a new object, so only later steps are compared.
                if !live.is_null() {
                    assert_eq!(canonical(&applied)["spec"], expected["spec"], "{what}");
                    for field in ["labels", "annotations"] {
                        assert_eq!(applied["metadata"][field], expected["metadata"][field], "{what}");
                    }
                }
                owners.entries()
            }
            Operation::Update => {
                let said = if what.contains("owners") { &expected } else { &live };
                Owners::of(said).after_update(&writer, &live, &expected, "now").entries()
            }
        };
        assert_eq!(owners(&object), owners(&expected), "{what}");
        assert_eq!(object["metadata"]["managedFields"][0]["fieldsV1"], owners_as_recorded(&expected)[0], "{what}");
        live = expected;
    }
}

/// The recorded `fieldsV1` trees, sorted like ours.
fn owners_as_recorded(object: &Value) -> Vec<Value> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let mut entries: Vec<&Value> = entries.iter().collect();
    entries.sort_by_key(|entry| {
        ["operation", "manager", "subresource"].map(|field| entry[field].as_str().unwrap_or_default())
    });
    entries.into_iter().map(|entry| entry["fieldsV1"].clone()).collect()
}

#[test]
fn without_force_a_conflict_is_refused() {
    let ours = Writer { operation: Operation::Apply, manager: "ours".to_owned(), subresource: String::new() };
    let live = json!({"metadata": {}, "data": {"a": "1"}});
    let mut theirs = live.clone();
    theirs["data"]["a"] = json!("2");
    theirs["metadata"]["managedFields"] =
        Owners::default().after_update(&Writer::by_hand(), &live, &theirs, "now").entries();
    let sent = |value: &str| json!({"metadata": {}, "data": {"a": value}});
    assert_eq!(apply(&theirs, &sent("1"), &ours, false, "now").unwrap_err(), ["kubectl-edit"]);
    let (_, shared) = apply(&theirs, &sent("2"), &ours, false, "now").unwrap();
    assert_eq!(shared.entries().as_array().unwrap().len(), 2, "the same value is no conflict");
    let (taken, owners) = apply(&theirs, &sent("1"), &ours, true, "now").unwrap();
    assert_eq!((&taken["data"]["a"], owners.entries().as_array().unwrap().len()), (&json!("1"), 1));
}

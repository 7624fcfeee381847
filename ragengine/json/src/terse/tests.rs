use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Small,
    Large,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: Option<String>,
    count: Option<usize>,
    ratio: Option<f32>,
    is_new: Option<bool>,
    kind: Option<Kind>,
    list: Option<Vec<i64>>,
    map: Option<BTreeMap<String, u8>>,
    any: Option<Value>,
    raw: Option<Box<RawValue>>,
    inner: Option<Box<Sample>>,
}

fn read(text: &str) -> Result<Sample, String> {
    Sample::deserialize(Terse(&mut serde_json::Deserializer::from_str(text))).map_err(|error| error.to_string())
}

#[test]
fn values_are_read_as_by_the_wrapped_deserializer() {
    let sample = json!({
        "name": "a\n", "count": 3, "ratio": 1, "is_new": true, "kind": "large", "list": [1, -2], "map": {"a": 1},
        "any": {"b": [null, "c"]}, "raw": {"d": 1e2}, "inner": {"name": null, "kind": "small"},
    });
    let read = read(&sample.to_string()).unwrap();
    assert_eq!((read.name.as_deref(), read.count, read.ratio), (Some("a\n"), Some(3), Some(1.0)));
    assert_eq!((read.is_new, read.kind), (Some(true), Some(Kind::Large)));
    assert_eq!((read.list, read.map), (Some(vec![1, -2]), Some(BTreeMap::from([("a".to_owned(), 1)]))));
    assert_eq!((&read.any.unwrap(), read.raw.unwrap().get()), (&sample["any"], r#"{"d":100.0}"#));
    let inner = read.inner.unwrap();
    assert_eq!((inner.name, inner.kind), (None, Some(Kind::Small)));
}

#[test]
fn an_error_quotes_no_string_and_no_long_name() {
    let long = "\u{7f}".repeat(100_000);
    for (field, expected) in [
        ("count", "usize"),
        ("ratio", "f32"),
        ("is_new", "a boolean"),
        ("list", "a sequence"),
        ("map", "a map"),
        ("inner", "struct Sample"),
    ] {
        let error = read(&json!({ field: long }).to_string()).unwrap_err();
        assert!(error.starts_with(&format!("invalid type: string, expected {expected}")), "{error}");
        assert!(error.len() < 200, "{} bytes", error.len());
    }
    for body in [json!({ &long: 1 }), json!({"map": { &long: 1 }}), json!({"kind": long})] {
        let error = read(&body.to_string()).unwrap_err();
        assert!(error.starts_with("a name has 100000 bytes, over 1024"), "{}", error.len());
    }
    assert!(read(r#"{"other": 1}"#).unwrap_err().contains("unknown field `other`"));
    assert!(read(r#"{"kind": "huge"}"#).unwrap_err().contains("unknown variant `huge`"));
}

use serde_json::json;

use super::*;

fn index(engine: &str, name: &str, created: &str, spec: &serde_json::Value) -> Arc<Index> {
    let mut index: Index = serde_json::from_value(json!({
        "apiVersion": "ragengine.dev/v1alpha1", "kind": "Index",
        "metadata": {"name": name, "namespace": "n", "creationTimestamp": created},
        "spec": {"engineRef": {"name": engine}, "sources": [{"name": "a", "configMap": {"name": "a"}}]},
    }))
    .unwrap();
    index.spec.index_name = spec["indexName"].as_str().map(str::to_owned);
    index.spec.access = serde_json::from_value(spec["access"].clone()).unwrap();
    Arc::new(index)
}

fn engine() -> Identity {
    Identity { namespace: "n".into(), name: "docs".into(), uid: "u".into() }
}

#[test]
fn the_oldest_index_decides_and_those_of_other_engines_do_not_count() {
    let read = |who: &str| json!({"indexName": "shared", "access": {"read": [who]}});
    let (early, late) = ("2026-11-22T09:00:00Z", "2026-11-22T09:00:01Z");
    let indexes = [
        index("docs", "b", late, &read("user:late")),
        index("docs", "a", early, &read("user:early")),
        index("other", "c", early, &json!({"access": {"read": ["*"]}})),
        index("docs", "open", early, &json!({})),
        index("docs", "closed", early, &json!({"access": {}})),
        index("docs", "odd", early, &json!({"access": {"read": ["staff", "user:b", "user:a", "user:b"]}})),
    ];
    let rules = rules_of(&engine(), &indexes);
    let list = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
    let expected = [("closed", list(&[])), ("odd", list(&["user:a", "user:b"])), ("shared", list(&["user:early"]))];
    let read: Vec<_> = rules.iter().map(|(name, rules)| (name.as_str(), rules.read.clone())).collect();
    assert_eq!(read, expected);
    // An older Index without rules decides too: the default of the engine applies.
    let indexes = [index("docs", "a", early, &json!({"indexName": "shared"})), index("docs", "b", late, &read_only())];
    assert_eq!(rules_of(&engine(), &indexes), RulesByIndex::new());
}

#[test]
fn rules_without_room_let_nobody_in_and_do_not_stop_those_of_older_indexes() {
    let long = |number: usize| format!("user:{number:0>250}");
    let many: Vec<String> = (0..100).map(long).collect();
    let of = |number: usize| {
        let created = format!("2026-11-22T09:00:{number:02}Z");
        index("docs", &format!("i{number:02}"), &created, &json!({"access": {"read": many, "write": ["key:ci"]}}))
    };
    // The youngest first, whose name also comes first.
    let indexes: Vec<_> = (0..30).rev().map(of).collect();
    let rules = rules_of(&engine(), &indexes);
    assert_eq!((rules.len(), rules["i00"].read.len(), rules["i29"].read.len()), (30, 100, 0));
    assert_eq!(rules["i29"].write, Vec::<String>::new());
    let text = serde_saphyr::to_string(&rules).unwrap();
    assert!(text.len() < 512 << 10, "{} bytes", text.len());
}

fn read_only() -> serde_json::Value {
    json!({"indexName": "shared", "access": {"read": ["user:late"]}})
}

#[test]
fn rules_in_another_order_are_the_same() {
    let rules = |read: &[&str]| AccessRules { read: read.iter().map(|&r| r.to_owned()).collect(), write: Vec::new() };
    assert_eq!(normalised(Some(&rules(&["b", "a", "b"]))), normalised(Some(&rules(&["a", "b"]))));
    assert_ne!(normalised(Some(&rules(&[]))), normalised(None));
}

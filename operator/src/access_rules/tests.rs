use serde_json::json;

use super::*;

/// An Index of this specification. It has filled its index unless the specification has another status.
fn index(engine: &str, name: &str, created: &str, spec: &serde_json::Value) -> Arc<Index> {
    let mut index: Index = serde_json::from_value(json!({
        "apiVersion": "ragengine.dev/v1alpha1", "kind": "Index",
        "metadata": {"name": name, "namespace": "n", "creationTimestamp": created},
        "spec": {"engineRef": {"name": engine}, "sources": [{"name": "a", "configMap": {"name": "a"}}]},
    }))
    .unwrap();
    index.spec.index_name = spec["indexName"].as_str().map(str::to_owned);
    index.spec.access = serde_json::from_value(spec["access"].clone()).unwrap();
    let status = spec.get("status").cloned().unwrap_or_else(|| json!({"lastSuccessTime": created}));
    index.status = serde_json::from_value(status).unwrap();
    index.metadata.deletion_timestamp = serde_json::from_value(spec["deletedAt"].clone()).unwrap();
    Arc::new(index)
}

/// The rules of Indexes where nobody has access without them.
fn rules_of(all: &[Arc<Index>]) -> RulesByIndex {
    rules_beside(&AccessRules::default(), &[], all)
}

/// The rules of Indexes beside this default, where these indexes have documents of deleted Indexes.
fn rules_beside(default: &AccessRules, left_behind: &[&str], all: &[Arc<Index>]) -> RulesByIndex {
    let engine = Identity { namespace: "n".into(), name: "docs".into(), uid: "u".into() };
    let left_behind = left_behind.iter().map(|&name| name.to_owned()).collect();
    let handed_over = RulesByIndex::new();
    super::rules_of(
        RulesInput { engine: &engine, default, left_behind: Some(&left_behind), handed_over: &handed_over },
        all,
    )
}

/// The rules of Indexes while it is not known which documents the server has, where it has these rules.
fn rules_unknown(handed_over: &RulesByIndex, all: &[Arc<Index>]) -> RulesByIndex {
    let engine = Identity { namespace: "n".into(), name: "docs".into(), uid: "u".into() };
    let default = AccessRules::default();
    super::rules_of(RulesInput { engine: &engine, default: &default, left_behind: None, handed_over }, all)
}

fn lists(read: &[&str], write: &[&str]) -> AccessRules {
    let owned = |rules: &[&str]| rules.iter().map(|&rule| rule.to_owned()).collect();
    AccessRules { read: owned(read), write: owned(write) }
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
    let rules = rules_of(&indexes);
    let list = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
    let expected = [("closed", list(&[])), ("odd", list(&["user:a", "user:b"])), ("shared", list(&["user:early"]))];
    let read: Vec<_> = rules.iter().map(|(name, rules)| (name.as_str(), rules.read.clone())).collect();
    assert_eq!(read, expected);
    // An older Index without rules decides too: the default of the engine applies.
    let indexes = [index("docs", "a", early, &json!({"indexName": "shared"})), index("docs", "b", late, &read_only())];
    assert_eq!(rules_of(&indexes), RulesByIndex::new());
}

/// Who may write an Index can name any index of the engine.
#[test]
fn only_an_index_that_has_filled_its_index_gives_more_than_the_default() {
    let me = json!({"read": ["user:me"], "write": ["user:me"]});
    let of = |more: serde_json::Value| {
        let mut spec = json!({"indexName": "salaries", "access": me});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        index("docs", "mine", "2026-11-22T09:00:00Z", &spec)
    };
    let (all, nobody) = (lists(&["user:me"], &["user:me"]), lists(&[], &[]));
    let time = "2026-11-22T10:00:00Z";
    for (what, spec, left_behind, expected) in [
        ("synchronised", json!({}), None, &all),
        ("some documents", json!({"status": {"documents": 1}}), None, &all),
        ("others' documents elsewhere", json!({}), Some("handbook"), &all),
        ("never synchronised", json!({"status": {}}), None, &nobody),
        ("never seen", json!({"status": null}), None, &nobody),
        ("no documents", json!({"status": {"documents": 0}}), None, &nobody),
        ("synchronised nothing", json!({"status": {"documents": 0, "lastSuccessTime": time}}), None, &nobody),
        ("leaving", json!({"deletedAt": time}), None, &nobody),
        ("documents of a deleted Index", json!({}), Some("salaries"), &nobody),
    ] {
        let rules = rules_beside(&AccessRules::default(), left_behind.as_slice(), &[of(spec)]);
        assert_eq!(rules, RulesByIndex::from([("salaries".to_owned(), expected.clone())]), "{what}");
    }
}

/// A server that starts again has the rules that were handed over, and says later whose documents it has.
#[test]
fn until_the_server_says_whose_documents_it_has_nobody_else_gets_access() {
    let all =
        [index("docs", "mine", "2026-11-22T09:00:00Z", &json!({"access": {"read": ["user:me"], "write": ["user:b"]}}))];
    let of = |rules: AccessRules| RulesByIndex::from([("mine".to_owned(), rules)]);
    for (before, expected) in [
        (RulesByIndex::new(), lists(&[], &[])),
        (of(lists(&["user:me"], &["user:b"])), lists(&["user:me"], &["user:b"])),
        (of(lists(&[], &[])), lists(&[], &[])),
        (of(lists(&["user:me", "user:old"], &[])), lists(&["user:me"], &[])),
        (of(lists(&[], &["user:b"])), lists(&["user:b"], &["user:b"])),
    ] {
        assert_eq!(rules_unknown(&before, &all), of(expected), "{before:?}");
    }
}

#[test]
fn the_rules_that_were_handed_over_are_read_again() {
    let rules = RulesByIndex::from([("a".to_owned(), lists(&["user:a"], &[])), ("b".to_owned(), lists(&[], &[]))]);
    let text = text_of(&rules, Some("serviceAccount:n/o".to_owned())).unwrap();
    let config_map = |text: &str| ConfigMap {
        data: Some(BTreeMap::from([(ACCESS_FILE.to_owned(), text.to_owned())])),
        ..ConfigMap::default()
    };
    assert_eq!(handed_over(Some(&config_map(&text))), rules);
    for edited in ["", "indexes: 3", "{", "indexes: {}"] {
        assert_eq!(handed_over(Some(&config_map(edited))), RulesByIndex::new(), "{edited}");
    }
    assert_eq!(handed_over(None), RulesByIndex::new());
}

/// The documents of an Index that is being deleted are still there.
#[test]
fn the_next_index_does_not_own_an_index_while_another_is_deleted() {
    let spec = |who: &str, more: serde_json::Value| {
        let mut spec = json!({"indexName": "shared", "access": {"read": [who]}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let (early, late) = ("2026-11-22T09:00:00Z", "2026-11-22T09:00:01Z");
    let leaving = index("docs", "a", early, &spec("group:hr", json!({"deletedAt": late})));
    let next = index("docs", "b", late, &spec("user:me", json!({})));
    assert_eq!(rules_of(&[leaving, Arc::clone(&next)])["shared"], lists(&[], &[]));
    assert_eq!(rules_of(&[next])["shared"], lists(&["user:me"], &[]));
}

#[test]
fn an_older_index_without_documents_does_not_displace_the_rules_of_one_that_has_them() {
    let of = |name: &str, created: &str, who: &str, more: &[(&str, serde_json::Value)]| {
        let mut spec = json!({"indexName": "shared", "access": {"read": [who]}});
        spec.as_object_mut().unwrap().extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        index("docs", name, created, &spec)
    };
    let (early, late) = ("2026-11-22T09:00:00Z", "2026-11-22T09:00:01Z");
    let (empty, leaving) = (("status", json!({})), ("deletedAt", json!(late)));
    let anybody = lists(&["*"], &[]);
    for (older, younger, expected) in [
        (vec![empty.clone()], vec![], "user:late"),
        (vec![empty.clone()], vec![leaving.clone()], "user:late"),
        (vec![leaving], vec![], "user:late"),
        (vec![empty.clone()], vec![empty], "user:early"),
        (vec![], vec![], "user:early"),
    ] {
        let all = [of("a", early, "user:early", &older), of("b", late, "user:late", &younger)];
        let rules = rules_beside(&anybody, &[], &all);
        assert_eq!(rules["shared"], lists(&[expected], &[]), "{older:?} {younger:?}");
    }
}

#[test]
fn rules_are_narrowed_to_whom_both_let_in() {
    for (rules, default, expected) in [
        (lists(&["user:a"], &[]), lists(&["*"], &[]), lists(&["user:a"], &[])),
        (lists(&["*"], &["*"]), lists(&["group:hr"], &["key:ci"]), lists(&["group:hr", "key:ci"], &["key:ci"])),
        (lists(&[], &["user:a"]), lists(&["*"], &[]), lists(&["user:a"], &[])),
        (lists(&["user:a", "user:b"], &[]), lists(&["user:b", "user:c"], &[]), lists(&["user:b"], &[])),
        (lists(&["user:a"], &[]), lists(&[], &["user:a"]), lists(&["user:a"], &[])),
        (
            lists(&["serviceAccount:a/x", "serviceAccount:ab/y", "serviceAccount:c/*"], &[]),
            lists(&["serviceAccount:a/*", "serviceAccount:c/z"], &[]),
            lists(&["serviceAccount:a/x", "serviceAccount:c/z"], &[]),
        ),
        (lists(&["user:ab"], &[]), lists(&["user:a*"], &[]), lists(&[], &[])),
    ] {
        assert_eq!(narrowed(&rules, &default), expected, "{rules:?} {default:?}");
    }
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
    let rules = rules_of(&indexes);
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

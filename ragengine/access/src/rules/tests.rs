use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::{Principal, Standing};

fn texts(read: &[&str], write: &[&str]) -> RuleTexts {
    let of = |rules: &[&str]| rules.iter().map(|&rule| rule.to_owned()).collect();
    RuleTexts { read: of(read), write: of(write) }
}

fn rules(read: &[&str], write: &[&str]) -> Rules {
    Rules::parse(&texts(read, write)).unwrap()
}

fn caller(principal: &str, groups: &[&str]) -> Identity {
    Identity::with_groups(principal.parse().unwrap(), groups)
}

#[test]
fn a_rule_lets_in_whom_it_names() {
    let ann = caller("user:ann", &["staff", "ops"]);
    let web = caller("serviceAccount:web/a", &[]);
    for (rule, caller, expected) in [
        ("user:ann", &ann, true),
        ("user:Ann", &ann, false),
        ("key:ann", &ann, false),
        ("group:staff", &ann, true),
        ("group:ops", &ann, true),
        ("group:ann", &ann, false),
        ("user:staff", &ann, false),
        ("*", &ann, true),
        ("*", &web, true),
        ("serviceAccount:web/*", &web, true),
        ("serviceAccount:web/a", &web, true),
        ("serviceAccount:web/b", &web, false),
        ("serviceAccount:we/*", &web, false),
        ("serviceAccount:web2/*", &web, false),
        ("serviceAccount:web/*", &ann, false),
        // A user of another issuer cannot choose such an ID.
        ("serviceAccount:web/a", &caller("user:serviceAccount:web/a", &[]), false),
        ("serviceAccount:web/*", &caller("user:serviceAccount:web/a", &[]), false),
        ("group:staff", &caller("user:group:staff", &[]), false),
    ] {
        let (readers, writers) = (rules(&[rule], &[]), rules(&[], &[rule]));
        assert_eq!(readers.permit(caller, Action::Read), expected, "{rule} {caller:?}");
        assert!(!readers.permit(caller, Action::Write), "{rule} {caller:?}");
        for action in [Action::Read, Action::Write] {
            assert_eq!(writers.permit(caller, action), expected, "{rule} {caller:?}");
            assert!(!Rules::default().permit(caller, action));
        }
    }
}

#[test]
fn a_text_that_is_no_rule_is_named_by_its_place() {
    for bad in ["", "ann", "**", "user:*", "group:*", "key:*", "serviceAccount:*", "serviceAccount:*/*", "user:a\nb"] {
        let error = Rules::parse(&texts(&["*"], &["user:ann", bad])).unwrap_err();
        assert!(error.to_string().starts_with("write[1] is not a rule"), "{bad}: {error}");
    }
    let many = vec!["*"; MAX_RULES + 1];
    assert!(Rules::parse(&texts(&many[1..], &[])).is_ok());
    let error = Rules::parse(&texts(&many, &[])).unwrap_err();
    assert_eq!(error, RuleError::TooMany { action: Action::Read });
}

const EXAMPLE: &str = "operator: serviceAccount:ragengine-system/ragengine-operator\n\
    indexes: {handbook: {read: [\"group:staff\", \"serviceAccount:web/*\"], write: [\"serviceAccount:ci/docs\"]}, \
    closed: {}}\n";

#[test]
fn an_index_without_rules_has_the_default() {
    let access = Access::from_yaml(EXAMPLE, rules(&["*"], &["key:ci"])).unwrap();
    assert_eq!(access.operator.as_ref().unwrap().as_str(), "serviceAccount:ragengine-system/ragengine-operator");
    let (staff, web) = (caller("user:ann", &["staff"]), caller("serviceAccount:web/x", &[]));
    let (docs, key) = (caller("serviceAccount:ci/docs", &[]), caller("key:ci", &[]));
    let operator = Identity { standing: Standing::Operator, ..caller("serviceAccount:o/o", &[]) };
    for (caller, index, reads, writes) in [
        (&staff, "handbook", true, false),
        (&web, "handbook", true, false),
        (&docs, "handbook", true, true),
        (&key, "handbook", false, false),
        (&staff, "other", true, false),
        (&key, "other", true, true),
        (&staff, "closed", false, false),
        (&key, "closed", false, false),
        (&operator, "handbook", true, false),
        (&operator, "closed", true, false),
        (&operator, "other", true, false),
    ] {
        let got = [Action::Read, Action::Write].map(|action| access.may(caller, action, index));
        assert_eq!(got, [reads, writes], "{caller:?} {index}");
    }
    let names = ["closed", "other", "handbook"];
    assert_eq!(access.readable(&staff, names), ["other", "handbook"]);
    assert_eq!(access.readable(&key, names), ["other"]);
    assert_eq!(access.readable(&operator, names), names);
}

#[test]
fn a_file_with_errors_is_refused_with_words() {
    let long = "i".repeat(MAX_RULES);
    for (yaml, expected) in [
        ("operators: a", "operators"),
        ("indexes: {a: {reed: []}}", "reed"),
        ("indexes: {a: {read: 1}}", "line 1"),
        ("indexes: {a: {read: ['user:s3cret', user]}}", "indexes.a: read[1] is not a rule"),
        ("indexes: {a: {}, a: {}}", "duplicate"),
        ("operator: ragengine-operator", "operator: write key:NAME"),
        ("indexes: {\"a\\nb\": {}}", "indexes: a name has"),
        (&format!("indexes: {{{long}: {{}}}}"), "indexes: a name has"),
        ("indexes: [", "line 1"),
        ("- a", "line 1"),
    ] {
        let error = Access::from_yaml(yaml, Rules::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{yaml}: {error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
    for yaml in ["", "# nothing\n", "{}", "indexes: {}"] {
        assert_eq!(Access::from_yaml(yaml, Rules::default()), Ok(Access::default()), "{yaml:?}");
    }
}

/// Waits until a condition holds.
async fn until(condition: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < limit, "it took too long");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn has_index(rules: &AccessRules, index: &str) -> bool {
    rules.current().is_some_and(|access| access.indexes.contains_key(index))
}

/// Exchanges a file at once, as the volume of a ConfigMap does.
fn exchange(path: &Path, text: &str) {
    let other = path.with_extension("new");
    fs::write(&other, text).unwrap();
    fs::rename(other, path).unwrap();
}

#[tokio::test]
async fn a_changed_file_is_read_again_and_the_last_good_one_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.yaml");
    let access = AccessRules::open(path.clone(), Rules::default()).await;
    assert!(access.current().is_none());
    assert!(access.problem().unwrap().contains("cannot be read"), "{:?}", access.problem());
    exchange(&path, "indexes: {a: {}}");
    until(|| has_index(&access, "a") && access.problem().is_none()).await;
    exchange(&path, "indexes: 3");
    until(|| access.problem().is_some()).await;
    assert!(has_index(&access, "a"));
    exchange(&path, "indexes: {b: {}}");
    until(|| has_index(&access, "b") && access.problem().is_none()).await;
    fs::remove_file(&path).unwrap();
    until(|| access.problem().is_some()).await;
    assert!(has_index(&access, "b"));
    exchange(&path, "indexes: {b: {}}");
    until(|| access.problem().is_none()).await;
}

#[test]
fn rules_of_the_settings_hold() {
    let indexes = [("a".to_owned(), texts(&["user:ann"], &[]))];
    let access = Access::of_texts(Rules::default(), indexes.iter().map(|(name, texts)| (name, texts))).unwrap();
    let fixed = AccessRules::fixed(access);
    assert!(fixed.current().unwrap().may(&caller("user:ann", &[]), Action::Read, "a"));
    assert_eq!(fixed.problem(), None);
}

fn any_rule() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "*",
        "user:a",
        "user:b",
        "group:a",
        "group:b",
        "key:a",
        "serviceAccount:a/*",
        "serviceAccount:a/a",
        "serviceAccount:b/*",
    ])
    .prop_map(str::to_owned)
}

fn any_caller() -> impl Strategy<Value = Identity> {
    let principal = prop::sample::select(vec![
        "user:a",
        "user:b",
        "key:a",
        "key:b",
        "serviceAccount:a/a",
        "serviceAccount:a/b",
        "serviceAccount:c/a",
    ]);
    let groups = prop::sample::subsequence(vec!["a", "b", "c"], 0..3);
    (principal, groups).prop_map(|(principal, groups)| caller(principal, &groups))
}

/// Whether a rule lets a caller in, in the words of the documentation.
fn lets_in(rule: &str, caller: &Identity) -> bool {
    let namespace = rule.strip_suffix('*').filter(|begin| !begin.is_empty());
    rule == "*"
        || caller.principals().any(|principal| principal.as_str() == rule)
        || namespace.is_some_and(|begin| caller.principal.as_str().starts_with(begin))
}

proptest! {
    #[test]
    fn rules_are_those_of_the_texts_and_writing_includes_reading(
        read in prop::collection::vec(any_rule(), 0..4),
        write in prop::collection::vec(any_rule(), 0..4),
        caller in any_caller(),
    ) {
        let parsed = Rules::parse(&RuleTexts { read: read.clone(), write: write.clone() }).unwrap();
        let writes = write.iter().any(|rule| lets_in(rule, &caller));
        let reads = writes || read.iter().any(|rule| lets_in(rule, &caller));
        prop_assert_eq!(parsed.permit(&caller, Action::Write), writes);
        prop_assert_eq!(parsed.permit(&caller, Action::Read), reads);
        let access = Access { indexes: [("i".to_owned(), parsed)].into(), ..Access::default() };
        prop_assert_eq!(access.readable(&caller, ["i", "j"]), if reads { vec!["i"] } else { vec![] });
    }

    #[test]
    fn any_text_is_read_without_a_panic(yaml in "[a-z:{}\\[\\]*/ \n\"&!-]{0,40}") {
        drop(Access::from_yaml(&yaml, Rules::default()));
    }

    #[test]
    fn a_group_is_never_the_main_principal(name in "[a-z]{1,5}") {
        let principal = Principal::user(&format!("group:{name}")).unwrap();
        prop_assert!(!principal.is_group());
    }
}

//! Checks of the CEL rules of a definition.

use std::collections::BTreeSet;

use serde_json::Value;

/// Checks that `case` was rejected with exactly one message, which begins with `message`.
pub fn assert_refused(found: &[String], message: &str, case: &str) {
    assert!(matches!(found, [only] if only.starts_with(message)), "{case}: expected '{message}…', got {found:?}");
}

/// Checks the rule for names: Services and Jobs are named after the object. `refusals` returns the messages for a name.
pub fn assert_names_suit_other_objects(refusals: impl Fn(&str) -> Vec<String>) {
    let longest = "a".repeat(50);
    for name in ["a", "docs", "team-a-docs-2", &longest] {
        assert_eq!(refusals(name), Vec::<String>::new(), "{name}");
    }
    let too_long = "a".repeat(51);
    for name in ["2docs", "-docs", "docs-", "Docs", "team.docs", &too_long] {
        assert_refused(&refusals(name), "metadata.name must be", name);
    }
}

/// Checks that the message of each rule begins with exactly one of the `tested` prefixes and says what to write
/// instead. The prefix of the name rule is added here.
pub fn assert_rules_are_tested_and_helpful<'a>(schema: &Value, tested: impl IntoIterator<Item = &'a str>) {
    let tested: BTreeSet<&str> = tested.into_iter().chain(["metadata.name must be"]).collect();
    // A set, because a type that is used in several places repeats its rules.
    let mut messages = BTreeSet::new();
    collect_messages(schema, &mut messages);
    for message in &messages {
        let cases = tested.iter().filter(|prefix| message.starts_with(**prefix)).count();
        assert_eq!(cases, 1, "{message}");
        assert!(message.contains(": "), "{message}: the message does not say what to write instead");
    }
    assert_eq!(tested.len(), messages.len());
}

fn collect_messages(schema: &Value, messages: &mut BTreeSet<String>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        messages.insert(rule["message"].as_str().unwrap().to_owned());
    }
    for (_, field) in schema["properties"].as_object().into_iter().flatten() {
        collect_messages(field, messages);
    }
    for child in ["items", "additionalProperties"] {
        if schema[child].is_object() {
            collect_messages(&schema[child], messages);
        }
    }
}

//! What holds for the rules of every definition.

use std::collections::BTreeSet;

use serde_json::Value;

/// Only by its own rule, in its own words.
pub fn assert_refused(found: &[String], message: &str, what: &str) {
    assert!(matches!(found, [only] if only.starts_with(message)), "{what}: {message} is not what was said: {found:?}");
}

/// Other objects are named after it: a Service, a Job. `refusals` are those of an object of a name.
pub fn assert_names_can_be_those_of_other_objects(refusals: impl Fn(&str) -> Vec<String>) {
    let longest = "a".repeat(50);
    for name in ["a", "docs", "team-a-docs-2", &longest] {
        assert_eq!(refusals(name), Vec::<String>::new(), "{name}");
    }
    let too_long = "a".repeat(51);
    for name in ["2docs", "-docs", "docs-", "Docs", "team.docs", &too_long] {
        assert_refused(&refusals(name), "metadata.name must be", name);
    }
}

/// Each by exactly one of these beginnings of messages, besides that of the name.
pub fn assert_every_rule_is_tested_and_says_what_to_write<'a>(
    schema: &Value,
    tested: impl IntoIterator<Item = &'a str>,
) {
    let tested: BTreeSet<&str> = tested.into_iter().chain(["metadata.name must be"]).collect();
    // A type that is in several places has its rules in all of them.
    let mut messages = BTreeSet::new();
    collect_messages(schema, &mut messages);
    for message in &messages {
        let cases = tested.iter().filter(|beginning| message.starts_with(**beginning)).count();
        assert_eq!(cases, 1, "{message}");
        assert!(message.contains(": "), "{message}: it does not say what to write instead");
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

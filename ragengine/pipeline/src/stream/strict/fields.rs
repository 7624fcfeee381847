//! The short fields of an answer, which may be sent without a check.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value, json};

/// The longest id or name, in bytes. Longer ones are left out.
const MAX_LABEL_BYTES: usize = 256;

/// The longest text of an error, in bytes. The rest is cut off.
const MAX_ERROR_BYTES: usize = 1_000;

/// The message in place of an endpoint's own, which nothing has checked.
pub const UNCHECKED: &str =
    "the language model's endpoint reports an error; its words are not shown, because guardrails check every text";

/// How deep the counts in a usage are nested at most.
const MAX_USAGE_DEPTH: usize = 3;

/// The longest name of a count, in bytes.
const MAX_COUNT_NAME_BYTES: usize = 64;

/// The roles of messages.
const ROLES: [&str; 7] = ["assistant", "user", "system", "developer", "tool", "function", "model"];

/// The known finish reasons. Some servers have their own.
const FINISH_REASONS: [&str; 13] = [
    "stop",
    "length",
    "tool_calls",
    "function_call",
    "content_filter",
    "error",
    "abort",
    "eos",
    "eos_token",
    "max_tokens",
    "end_turn",
    "stop_sequence",
    "insufficient_system_resource",
];

/// The finish reason in place of an unknown one.
const UNKNOWN: &str = "unknown";

/// A value of this type. None if it has another.
pub(super) fn typed<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

/// An id or a name. None if it is too long or no string.
pub(super) fn label(value: Option<&RawValue>) -> Option<String> {
    typed::<String>(value).filter(|label| label.len() <= MAX_LABEL_BYTES)
}

/// A known role.
pub(super) fn role(value: Option<&RawValue>) -> Option<&'static str> {
    let role: String = typed(value)?;
    ROLES.into_iter().find(|known| *known == role)
}

/// Why a choice ended. None while it continues: no string, or an empty one.
pub(super) fn finish_reason(value: Option<&RawValue>) -> Option<&'static str> {
    let value = value.filter(|value| value.get().starts_with('"'))?;
    let Some(reason) = typed::<String>(Some(value)) else { return Some(UNKNOWN) };
    let known = || FINISH_REASONS.into_iter().find(|known| *known == reason);
    (!reason.is_empty()).then(|| known().unwrap_or(UNKNOWN))
}

/// The numbers in a usage. None if there are none.
pub(super) fn usage(value: Option<&RawValue>) -> Option<Value> {
    counts(typed(value)?, MAX_USAGE_DEPTH)
}

fn counts(value: Value, depth: usize) -> Option<Value> {
    match value {
        Value::Number(_) if depth < MAX_USAGE_DEPTH => Some(value),
        Value::Object(fields) if depth > 0 => {
            let known = fields.into_iter().filter(|(name, _)| name.len() <= MAX_COUNT_NAME_BYTES);
            let counted: Map<String, Value> =
                known.filter_map(|(name, value)| Some((name, counts(value, depth - 1)?))).collect();
            (!counted.is_empty()).then_some(Value::Object(counted))
        }
        _ => None,
    }
}

/// The text of an error, without what is too long.
pub(in super::super) fn bounded_error(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
    text
}

/// An error of the endpoint, without its own words: some endpoints quote the answer that they failed to read.
pub(super) fn error(value: Option<&RawValue>) -> Option<Value> {
    let value = value?;
    let short = |value: Value| match value {
        Value::Number(number) => Some(Value::Number(number)),
        Value::String(label) => (label.len() <= MAX_LABEL_BYTES).then_some(Value::String(label)),
        _ => None,
    };
    Some(match typed(Some(value)) {
        Some(Value::Object(mut fields)) => {
            let rest = ["type", "param", "code"].map(|name| (name, fields.remove(name).and_then(short)));
            let known = [("message", Some(UNCHECKED.into()))].into_iter().chain(rest);
            known.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
        }
        _ => json!({"message": UNCHECKED}),
    })
}

/// A number, such as a time.
pub(super) fn number(value: Option<&RawValue>) -> Option<Value> {
    typed::<Number>(value).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn a_usage_has_only_numbers() {
        for (given, expected) in [
            (
                r#"{"prompt_tokens":3,"details":{"cached_tokens":1.5}}"#,
                Some(json!({"prompt_tokens": 3, "details": {"cached_tokens": 1.5}})),
            ),
            (
                r#"{"prompt_tokens":null,"completion_tokens":2,"text":"AKIA","ids":[1]}"#,
                Some(json!({"completion_tokens": 2})),
            ),
            (r#"{"a":{"b":{"c":{"d":1}}}}"#, None),
            (r#"{"text":"AKIA"}"#, None),
            ("7", None),
            (r#""AKIA""#, None),
        ] {
            assert_eq!(usage(Some(&raw(given))), expected, "{given}");
        }
        let long = format!(r#"{{"{}":1,"a":1}}"#, "x".repeat(65));
        assert_eq!(usage(Some(&raw(&long))), Some(json!({"a": 1})));
    }

    #[test]
    fn an_error_has_no_words_of_the_endpoint() {
        for (given, expected) in [
            (json!("AKIA"), json!({"message": UNCHECKED})),
            (
                json!({"message": "AKIA", "type": "t", "param": null, "code": 502, "metadata": {"raw": "x"}}),
                json!({"message": UNCHECKED, "type": "t", "code": 502}),
            ),
            (json!({"code": "x".repeat(MAX_LABEL_BYTES + 1)}), json!({"message": UNCHECKED})),
            (json!(7), json!({"message": UNCHECKED})),
        ] {
            assert_eq!(error(Some(&raw(&given.to_string()))), Some(expected), "{given}");
        }
    }

    #[test]
    fn finish_reasons_and_roles_are_known_ones() {
        for (given, expected) in [
            (r#""stop""#, Some("stop")),
            (r#""the key is AKIA""#, Some(UNKNOWN)),
            (r#""\ud800""#, Some(UNKNOWN)),
            (r#""""#, None),
            ("1", None),
        ] {
            assert_eq!(finish_reason(Some(&raw(given))), expected, "{given}");
        }
        assert_eq!(role(Some(&raw(r#""assistant""#))), Some("assistant"));
        assert_eq!(role(Some(&raw(r#""AKIA""#))), None);
    }
}

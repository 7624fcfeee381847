//! Validation against a structural schema, like the API server with strict field validation.

use regex::Regex;
use serde_json::Value;

/// All violations of `schema` by `value`. Panics at an unsupported keyword, so that no keyword is ignored silently.
pub fn problems(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let keywords = schema.as_object().unwrap();
    if value.is_null() && keywords.get("nullable").is_some_and(|nullable| nullable == true) {
        return Vec::new();
    }
    let preserved = keywords.get("x-kubernetes-preserve-unknown-fields").is_some_and(|preserved| preserved == true);
    let mut problems = Vec::new();
    let mut refuse = |problem: String| problems.push(format!("{path}: {problem}"));
    let mut nested = Vec::new();
    for (keyword, limit) in keywords {
        match keyword.as_str() {
            "description"
            | "title"
            | "default"
            | "format"
            | "nullable"
            | "x-kubernetes-validations"
            | "x-kubernetes-list-type"
            | "x-kubernetes-list-map-keys"
            | "x-kubernetes-preserve-unknown-fields" => {}
            // `x-kubernetes-int-or-string` below checks both types.
            "anyOf" => assert_eq!(keywords["x-kubernetes-int-or-string"], true),
            "x-kubernetes-int-or-string" => {
                if !(value.is_string() || value.is_i64()) {
                    refuse(format!("{value} is neither an integer nor a string"));
                }
            }
            "type" => {
                let holds = match limit.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64(),
                    "number" => value.is_number(),
                    other => panic!("{path}: the type {other} is not supported"),
                };
                if !holds {
                    refuse(format!("{value} is not of type {limit}"));
                }
            }
            "enum" => {
                if !limit.as_array().unwrap().contains(value) {
                    refuse(format!("{value} is not one of {limit}"));
                }
            }
            "pattern" => {
                if value.as_str().is_some_and(|text| !Regex::new(limit.as_str().unwrap()).unwrap().is_match(text)) {
                    refuse(format!("{value} does not match {limit}"));
                }
            }
            "minimum" => {
                if value.as_f64().is_some_and(|number| number < limit.as_f64().unwrap()) {
                    refuse(format!("{value} is less than {limit}"));
                }
            }
            "maximum" => {
                if value.as_f64().is_some_and(|number| number > limit.as_f64().unwrap()) {
                    refuse(format!("{value} is more than {limit}"));
                }
            }
            "minLength" => {
                if value.as_str().is_some_and(|text| (text.chars().count() as u64) < limit.as_u64().unwrap()) {
                    refuse(format!("shorter than {limit}"));
                }
            }
            "maxLength" => {
                if value.as_str().is_some_and(|text| text.chars().count() as u64 > limit.as_u64().unwrap()) {
                    refuse(format!("longer than {limit}"));
                }
            }
            "minItems" => {
                if value.as_array().is_some_and(|items| (items.len() as u64) < limit.as_u64().unwrap()) {
                    refuse(format!("fewer than {limit} items"));
                }
            }
            "maxItems" => {
                if value.as_array().is_some_and(|items| items.len() as u64 > limit.as_u64().unwrap()) {
                    refuse(format!("more than {limit} items"));
                }
            }
            "maxProperties" => {
                if value.as_object().is_some_and(|entries| entries.len() as u64 > limit.as_u64().unwrap()) {
                    refuse(format!("more than {limit} entries"));
                }
            }
            "required" => {
                for name in limit.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        refuse(format!("{name} is required"));
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    nested.extend(self::problems(limit, item, &format!("{path}[{index}]")));
                }
            }
            "additionalProperties" => {
                for (name, entry) in value.as_object().into_iter().flatten() {
                    nested.extend(self::problems(limit, entry, &format!("{path}.{name}")));
                }
            }
            "properties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    match limit.get(name) {
                        Some(known) => nested.extend(self::problems(known, field, &format!("{path}.{name}"))),
                        None if preserved => {}
                        None => refuse(format!("unknown field {name}")),
                    }
                }
            }
            other => panic!("{path}: the keyword {other} is not supported"),
        }
    }
    problems.extend(nested);
    problems
}

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pattern of a rule. The server allows more: names with other spaces, and names that begin with `*`.
const RULE: &str = r"^([*]|(key|user|group):[^\pC\pZ*][^\pC\pZ]*( [^\pC\pZ]+)*|serviceAccount:[a-z0-9-]{1,63}/([*]|[a-z0-9.-]{1,253}))$";

/// The longest name in a rule, in bytes. The server allows no longer ones.
const MAX_NAME_BYTES: usize = 256;

/// Who may use an index. A rule is a caller such as `user:ann`, a group such as `group:staff`,
/// `serviceAccount:NAMESPACE/NAME`, `serviceAccount:NAMESPACE/*`, or `*` for every known caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AccessRules {
    /// Who may ask, retrieve, list and vote. Default: only those in `write`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 332), regex(pattern = RULE)))]
    pub read: Vec<String>,
    /// Who may ask, retrieve, list and vote, and also change documents, settings and sources. Default: no caller, only
    /// the write token.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 332), regex(pattern = RULE)))]
    pub write: Vec<String>,
}

/// Rules of indexes that have none. A rule is as in `access` of an Index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DefaultAccess {
    /// Who may ask, retrieve, list and vote. Default: `["*"]`, every known caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 332), regex(pattern = RULE)))]
    pub read: Option<Vec<String>>,
    /// Who may ask, retrieve, list and vote, and also change documents, settings and sources. Default: no caller, only
    /// the write token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100), inner(length(min = 1, max = 332), regex(pattern = RULE)))]
    pub write: Option<Vec<String>>,
}

/// Whether the server knows a rule. A definition counts characters and the server bytes, and an object that is older
/// than the definition was not checked by it.
pub fn is_access_rule(rule: &str) -> bool {
    let is_word = |text: &str, marks: &str, longest: usize| {
        let is_of_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || marks.contains(c);
        (1..=longest).contains(&text.len()) && text.chars().all(is_of_word)
    };
    match rule.split_once(':') {
        None => rule == "*",
        Some(("key" | "user" | "group", name)) => {
            let is_shown = |c: char| !c.is_control() && (c == ' ' || !c.is_whitespace()) && !is_invisible(c);
            let is_text = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_shown);
            is_text && name.trim() == name && name != "*"
        }
        Some(("serviceAccount", name)) => name.split_once('/').is_some_and(|(namespace, name)| {
            is_word(namespace, "-", 63) && (name == "*" || is_word(name, "-.", MAX_NAME_BYTES))
        }),
        Some(_) => false,
    }
}

/// Whether a character changes the order in which others are shown.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_a_principal_a_group_a_namespace_or_everybody() {
        let longest = format!("user:{}", "n".repeat(MAX_NAME_BYTES));
        for rule in [
            "*",
            "key:ci",
            "user:ann@example.org",
            "user:Ann Müller",
            "group:staff",
            "serviceAccount:web/*",
            "serviceAccount:ns-1/a.b-c",
            &longest,
        ] {
            assert!(is_access_rule(rule), "{rule}");
        }
        for rule in [
            "",
            "staff",
            "User:ann",
            "user:",
            "user:*",
            "user: ann",
            "user:a\nb",
            "user:a\u{202e}b",
            "serviceAccount:web",
            "serviceAccount:Web/a",
            "serviceAccount:a/b/c",
            &format!("{longest}n"),
        ] {
            assert!(!is_access_rule(rule), "{rule}");
        }
    }
}

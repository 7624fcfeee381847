use crate::support::{blocked, one, passed, policy, redacted};

#[test]
fn valid_json_stays() {
    for text in [r#"{"key": "value"}"#, "[1, 2, 3]", " 1 ", "\"text\"", "null"] {
        passed(&one("type: json"), &[text]);
    }
}

#[test]
fn invalid_json_is_refused() {
    for text in ["", "   ", "this is not json at all", "not valid {json} at all", "{]", r#"{"a": 1} and more"#] {
        redacted(&one("type: json"), &[text], "[REDACTED]");
        blocked(&one("type: json, action: block"), &[text]);
    }
    redacted(&one("type: json, repair: false"), &[r#"{"key": "value""#], "[REDACTED]");
}

#[test]
fn broken_json_is_repaired() {
    for action in ["redact", "block"] {
        let policy = one(&format!("type: json, action: {action}"));
        redacted(&policy, &[r#"{"key": "#, r#""value""#], r#"{"key": "value"}"#);
        redacted(&policy, &["```json\n[1, 2]\n```"], "[1, 2]");
        redacted(&policy, &[r#"[{"a": "b"#], r#"[{"a": "b"}]"#);
    }
}

#[test]
fn required_elements() {
    let requires = |count: u32| one(&format!("type: json, required_elements: {count}"));
    passed(&requires(2), &[r#"{"a": 1, "b": 2, "c": 3}"#]);
    passed(&requires(2), &[r#"{"a": 1, "b": 2}"#]);
    passed(&requires(3), &["[1, 2, 3]"]);
    redacted(&requires(3), &[r#"{"a": 1, "b": 2}"#], "[REDACTED]");
    redacted(&requires(3), &["[1, 2]"], "[REDACTED]");
    redacted(&requires(1), &["1"], "[REDACTED]");
    redacted(&requires(2), &["[1, 2"], "[1, 2]");
    redacted(&requires(2), &["[1"], "[REDACTED]");
}

#[test]
fn deep_json_does_not_exhaust_the_stack() {
    assert!(policy(&one("type: json")).check(&"[".repeat(100_000)).text == "[REDACTED]");
}

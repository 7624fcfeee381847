use ragengine_guardrails::Outcome;

use crate::support::{blocked, passed, policy, redacted};

const INVISIBLE: &str = "{type: invisible_text, action: redact}";
const NO_UNSAFE: &str = "{type: ban_substrings, substrings: [unsafe], match_type: str, action: block}";

fn chain(scanners: &[&str]) -> String {
    format!("blockMessage: <stop>\nscanners: [{}]\n", scanners.join(", "))
}

#[test]
fn scanners_work_in_order() {
    let unsafe_redacted = "{type: ban_substrings, substrings: [unsafe]}";
    blocked(
        &chain(&[
            unsafe_redacted,
            "{type: ban_substrings, substrings: ['[REDACTED]'], match_type: str, action: block}",
        ]),
        &["unsafe"],
    );
    let email = "{type: sensitive, detectors: [email]}";
    blocked(
        &chain(&[email, "{type: ban_substrings, substrings: ['<EMAIL>'], match_type: str, action: block}"]),
        &["Contact alice@", "example.com"],
    );
    let all = "{type: regex, patterns: ['\\S+']}";
    redacted(&chain(&[all, "{type: ban_substrings, substrings: [secret], action: block}"]), &["dirty"], "[REDACTED]");
    blocked(&chain(&[all, "{type: ban_substrings, substrings: [redacted], action: block}"]), &["dirty"]);
}

#[test]
fn a_redaction_that_makes_a_match_is_seen_by_earlier_scanners() {
    for order in [[INVISIBLE, NO_UNSAFE], [NO_UNSAFE, INVISIBLE]] {
        blocked(&chain(&order), &["un\u{200b}safe"]);
        blocked(&chain(&order), &["un", "\u{200b}", "safe"]);
        redacted(&chain(&order), &["hello\u{200b}world"], "helloworld");
        passed(&chain(&order), &["hello world"]);
    }
    let redacting = "{type: ban_substrings, substrings: [unsafe]}";
    redacted(&chain(&[redacting, INVISIBLE]), &["an un\u{200b}", "safe text"], "an [REDACTED] text");
    redacted(&chain(&["{type: secrets}", INVISIBLE]), &["AKIA\u{200b}1234567890ABCDEF"], "******");
    // A replacement may be what a scanner before it blocks.
    blocked(&chain(&["{type: ban_substrings, substrings: [redacted], action: block}", redacting]), &["an unsafe text"]);
}

#[test]
fn json_must_be_valid_after_redactions() {
    let json = "{type: json, action: block, repair: false}";
    let email = "{type: sensitive, detectors: [email, phone]}";
    redacted(&chain(&[json, email]), &[r#"{"a": "a@b.com"}"#], r#"{"a": "<EMAIL>"}"#);
    blocked(&chain(&[json, "{type: regex, patterns: ['\\d+']}"]), &[r#"{"a": 1}"#]);
}

#[test]
fn a_scanners_action_wins() {
    let policy = "action: block\nblockMessage: <stop>\nscanners:\n  - {type: regex, patterns: [a], action: redact}\n  - {type: regex, patterns: [b]}\n";
    redacted(policy, &["a"], "[REDACTED]");
    blocked(policy, &["ab"]);
}

#[test]
fn the_last_outcome_counts_once() {
    let policy = policy(&chain(&[INVISIBLE, NO_UNSAFE, "{type: sensitive}", INVISIBLE]));
    let checked = policy.check("hello\u{200b} a@b.com \u{200b}");
    assert_eq!(
        (checked.outcome, checked.triggered),
        (Outcome::Redacted, vec!["sensitive", "invisible_text"].into_iter().rev().collect())
    );
    let checked = policy.check("un\u{200b}safe");
    assert_eq!(checked.outcome, Outcome::Blocked);
    assert!(checked.triggered.contains(&"ban_substrings"));
    assert_eq!(Outcome::Blocked.kind(), "blocked");
    assert_eq!(policy.check("clean output").triggered, Vec::<&str>::new());
}

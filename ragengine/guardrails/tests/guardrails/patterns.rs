use ragengine_guardrails::{Outcome, Policy};

use crate::support::{blocked, one, passed, policy, redacted};

fn regex(list: &str, more: &str) -> String {
    one(&format!("type: regex, patterns: {list}{more}"))
}

#[test]
fn a_pattern_is_found_anywhere() {
    redacted(&regex(r"['\d{3}-\d{4}']", ""), &["Call 123-4567 now"], "Call [REDACTED] now");
    passed(&regex(r"['\d{3}-\d{4}']", ""), &["Call me tomorrow"]);
    redacted(&regex(r"['https?://\S+']", ""), &["see https://exa", "mple.com/x?y now"], "see [REDACTED] now");
    redacted(&regex(r"['(?i)ssn:\s*\d{3}-\d{2}-\d{4}']", ""), &["SSN: 123-4", "5-6789"], "[REDACTED]");
    blocked(&regex(r"['\d{3}-\d{4}']", ", action: block"), &["Call 123-", "4567 now"]);
    passed(&regex(r"['\d+']", ""), &[""]);
}

#[test]
fn every_match_of_every_pattern() {
    for match_type in ["search", "all", "ALL"] {
        let more = format!(", match_type: {match_type}");
        redacted(&regex(r"['\d+']", &more), &["123 and 456 and 789"], "[REDACTED] and [REDACTED] and [REDACTED]");
    }
    redacted(&regex(r"['\d+', secret]", ""), &["123 secret"], "[REDACTED] [REDACTED]");
}

#[test]
fn a_full_match_is_the_whole_answer() {
    for match_type in ["fullmatch", "FullMatch"] {
        let policy = regex(r"['\d+', 'a|ab']", &format!(", match_type: {match_type}"));
        redacted(&policy, &["1", "23"], "[REDACTED]");
        redacted(&policy, &["ab"], "[REDACTED]");
        passed(&policy, &["abc123def"]);
        passed(&policy, &["123\n"]);
        passed(&policy, &[""]);
    }
    blocked(&regex(r"['\d+']", ", match_type: fullmatch, action: block"), &["1", "23"]);
    redacted(&regex("['.*']", ", match_type: fullmatch"), &["anything"], "[REDACTED]");
}

#[test]
fn an_answer_must_match_if_matches_are_not_blocked() {
    let allow = regex(r"['\d+', '^OK']", ", is_blocked: false");
    passed(&allow, &["has 1", "23 number"]);
    passed(&allow, &["OK then"]);
    redacted(&allow, &["no numbers here"], "[REDACTED]");
    redacted(&allow, &[""], "[REDACTED]");
    blocked(&regex(r"['\d+']", ", is_blocked: false, action: block"), &["no numbers ", "here"]);
    let full = regex(r"['\d+']", ", is_blocked: false, match_type: fullmatch");
    passed(&full, &["1", "23"]);
    redacted(&full, &["has 123 number"], "[REDACTED]");
}

#[test]
fn edges_of_the_answer() {
    redacted(&regex("['^ab']", ""), &["ab", "ab"], "[REDACTED]ab");
    redacted(&regex("['ab$']", ""), &["ab", "ab"], "ab[REDACTED]");
    redacted(&regex(r"['(?m)^\s*#.*$']", ""), &["#a\nb #c\n", " #d"], "[REDACTED]\nb #c\n[REDACTED]");
}

#[test]
fn the_whole_answer_must_fit_into_memory() {
    let long = "a".repeat(2_000_000);
    assert_eq!(policy(&regex("[x]", ", match_type: fullmatch")).check(&long).text, "[REDACTED]");
    let check = policy(&regex("[x]", ", match_type: fullmatch, action: block")).check(&long);
    assert_eq!((check.text.as_str(), check.outcome), ("<stop>", Outcome::Blocked));
}

#[test]
fn nothing_of_the_text_is_in_debug_output() {
    let policy = Policy::parse(&regex("[hunter2]", "")).unwrap();
    let mut stream = policy.stream();
    stream.push("the password is hunter");
    let shown = format!("{policy:?} {stream:?} {:?}", policy.check("password hunter3"));
    assert!(!shown.contains("hunter") && !shown.contains("password"), "{shown}");
}

use ragengine_guardrails::{DEFAULT_BLOCK_MESSAGE, Outcome, Policy};

use crate::support::policy;

/// The policy that the format's own deployment installs when none is given.
const DEFAULT: &str = r"
action: redact
blockMessage: The model output was blocked by output guardrails.
scanners:
  - type: regex
    patterns:
      - '-----BEGIN (?:RSA |EC |OPENSSH )?PRIVATE KEY-----'
      - 'AKIA[0-9A-Z]{16}'
      - 'AIza[0-9A-Za-z_\-]{35}'
      - 'gh[pousr]_[A-Za-z0-9]{36,}'
      - 'sk-[A-Za-z0-9]{20,}'
      - '(?i)bearer\s+[A-Za-z0-9._\-]{20,}'
  - type: secrets
    redactMode: all
  - type: sensitive
";

#[test]
fn a_policy_is_read() {
    let policy = policy(
        "action: block\nblockMessage: blocked-by-policy\nscanners:\n  - type: regex\n    patterns:\n      - https?://\\S+\n  - type: ban_substrings\n    substrings:\n      - secret\n",
    );
    assert_eq!(policy.block_message(), "blocked-by-policy");
    assert_eq!(policy.scanners(), ["regex", "ban_substrings"]);
    assert_eq!(policy.id().len(), 64);
    for text in ["https://example.com", "a secret"] {
        assert_eq!(
            (policy.check(text).text.as_str(), policy.check(text).outcome),
            ("blocked-by-policy", Outcome::Blocked)
        );
    }
}

#[test]
fn defaults() {
    let policy = policy("scanners: [{type: ban_substrings, substrings: [yaml-only]}]");
    assert_eq!(policy.block_message(), DEFAULT_BLOCK_MESSAGE);
    assert_eq!(policy.check("YAML-only!").text, "[REDACTED]!");
}

#[test]
fn a_default_policy_works() {
    let policy = policy(DEFAULT);
    assert_eq!(
        policy.check("AKIA1234567890ABCDEF, a@b.com, xoxb-123456789012-abc").text,
        "[REDACTED], <EMAIL>, ******",
    );
}

#[test]
fn names_may_be_spelled_in_several_ways() {
    for yaml in [
        "scanners: [{type: ban-substrings, substrings: [secret], matchType: WORD, caseSensitive: true}]",
        "scanners: [{type: banSubstrings, substrings: [secret], match-type: Word, case_sensitive: true}]",
        "block_message: x\naction: REDACT\nscanners: [{type: ' ban_substrings ', action: Redact, substrings: [secret], match_type: null}]",
    ] {
        assert_eq!(policy(yaml).check("a secret").text, "a [REDACTED]", "{yaml}");
    }
}

#[test]
fn every_scanner_takes_both_actions() {
    for scanner in [
        "type: regex, patterns: [a]",
        "type: ban_substrings, substrings: [a]",
        "type: json",
        "type: reading_time, max_time: 1",
        "type: secrets",
        "type: sensitive",
        "type: invisible_text",
        "type: token_limit",
    ] {
        for action in ["redact", "block"] {
            policy(&format!("scanners: [{{{scanner}, action: {action}}}]"));
        }
    }
}

#[test]
fn the_id_is_that_of_the_text() {
    let id = |yaml: &str| Policy::parse(yaml).unwrap().id().to_owned();
    let yaml = "scanners: [{type: secrets}]";
    assert_eq!(id(yaml), id(yaml));
    assert_ne!(id(yaml), id("scanners: [{type: secrets, redact_mode: hash}]"));
}

use ragengine_guardrails::{Call, Outcome};

use crate::support::{one, policy};

const SECRET: &str = "AKIA1234567890ABCDEF";

fn arguments(arguments: &str) -> Call<'_> {
    Call { id: "call_1", name: "search", arguments }
}

/// Whether a policy permits a call.
fn permits(scanner: &str, call: &Call<'_>) -> bool {
    let mut stream = policy(&one(scanner)).stream();
    let permitted = stream.permits_call(call);
    assert_eq!(stream.outcome(), if permitted { Outcome::Passed } else { Outcome::Blocked });
    permitted
}

#[test]
fn a_secret_in_a_call_blocks_it() {
    for text in [
        format!(r#"{{"query":"the key {SECRET}"}}"#),
        format!(r#"{{"{SECRET}":1}}"#),
        // Text behind escapes, also of JSON within JSON, and of JSON that is cut off.
        format!(r#"{{"query":"the key:\n{SECRET}"}}"#),
        format!(r#"{{"query":"\u0041{}"}}"#, &SECRET[1..]),
        format!(r#"{{"query":"{{\"a\":\"\\n{SECRET}\"}}"}}"#),
        format!(r#"{{"query":"\u0041{}"#, &SECRET[1..]),
        // A second field of the same name.
        format!(r#"{{"query":"\u0041{}","query":""}}"#, &SECRET[1..]),
        format!("not JSON: {SECRET}"),
    ] {
        for action in ["redact", "block"] {
            assert!(!permits(&format!("type: secrets, action: {action}"), &arguments(&text)), "{text}");
        }
    }
    assert!(!permits("type: secrets", &Call { id: SECRET, ..arguments("{}") }));
    assert!(!permits("type: secrets", &Call { name: SECRET, ..arguments("{}") }));
}

#[test]
fn a_call_without_a_finding_is_permitted() {
    for text in [r#"{"query":"a \"quoted\" path C:\\new"}"#, "{}", "", r#"{"query":"ä\ud83e\udd80"}"#] {
        assert!(permits("type: secrets", &arguments(text)), "{text}");
    }
}

#[test]
fn escapes_within_escapes_have_an_end() {
    let deep = format!("{}n", "\\".repeat(1 << 12));
    assert!(!permits("type: secrets", &arguments(&deep)));
}

#[test]
fn arguments_hold_the_whole_policy() {
    // The name and the id are no JSON and have no word of the policy.
    assert!(permits("type: json", &arguments(r#"{"a":"b\nc"}"#)));
    assert!(!permits("type: json", &arguments("no JSON")));
    assert!(permits("type: regex, patterns: [ok], is_blocked: false", &arguments(r#"{"a":"ok\n"}"#)));
    assert!(!permits("type: regex, patterns: [ok], is_blocked: false", &arguments("{}")));
    assert!(!permits("type: token_limit, limit: 3", &arguments(r#"{"a":"one two three four"}"#)));
    assert!(!permits("type: regex, patterns: [search], match_type: search", &arguments("{}")));
}

#[test]
fn a_blocked_call_blocks_the_answer() {
    let policy =
        policy("scanners: [{type: ban_substrings, substrings: [Atlas]}, {type: secrets}, {type: json, repair: false}]");
    let mut stream = policy.stream();
    assert!(stream.permits_call(&arguments("{}")));
    assert_eq!(stream.push("Hello"), "");
    assert!(!stream.permits_call(&arguments(&format!("[\"{SECRET}\"]"))));
    assert_eq!((stream.outcome(), stream.triggered()), (Outcome::Blocked, &["secrets"][..]));
    assert_eq!((stream.push("more"), stream.finish(), stream.held_bytes()), (String::new(), String::new(), 0));
    assert!(!stream.permits_call(&arguments("{}")));
    assert!(!format!("{:?}", arguments(SECRET)).contains(SECRET));
}

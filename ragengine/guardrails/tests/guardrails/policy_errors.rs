use ragengine_guardrails::{Policy, limits};

fn error(yaml: &str) -> (&'static str, String) {
    match Policy::parse(yaml) {
        Ok(_) => panic!("accepted: {yaml}"),
        Err(error) => (error.kind(), error.to_string()),
    }
}

#[test]
fn a_broken_policy_is_refused_with_words_to_act_on() {
    // The policy, the kind of the error, and parts of its text.
    let cases: &[(&str, &str, &[&str])] = &[
        ("scanners: [unclosed\n", "yaml", &["not valid YAML"]),
        ("- just\n- a list\n", "yaml", &["{action, blockMessage, scanners}"]),
        ("", "field", &["scanners has no scanner"]),
        ("text", "yaml", &[]),
        ("scanners: [{type: secrets}]\nscanners: [{type: secrets}]\n", "yaml", &["scanners"]),
        ("{}", "field", &["scanners has no scanner", "regex, ban_substrings, json", "disable guardrails"]),
        ("action: block", "field", &["scanners has no scanner"]),
        ("scanners:", "field", &["scanners has no scanner"]),
        ("scanners: []", "field", &["scanners has no scanner"]),
        ("scanners: {type: regex}", "field", &["scanners must be a list", "`- type:`"]),
        ("action: passthrough\nscanners: [{type: secrets}]", "field", &["action must be one of redact, block"]),
        ("blockMessage: ''\nscanners: [{type: secrets}]", "field", &["block_message must be a text"]),
        (
            "fail_open: true\nscanners: [{type: secrets}]",
            "field",
            &["fail_open is unknown: the fields here are action"],
        ),
        ("scanners: [not-an-object]", "scanner", &["scanners[0] (?): type is missing"]),
        ("scanners: [{type: secrets}, {}]", "scanner", &["scanners[1] (?): type is missing: write one of regex"]),
        ("scanners: [{type: ''}]", "scanner", &["scanners[0] (?): type must be one of"]),
        ("scanners: [{type: '   '}]", "scanner", &["type must be one of"]),
        ("scanners: [{type: toxicity}]", "scanner", &["scanners[0] (toxicity): type is unknown: write one of regex"]),
        ("scanners: [{type: regex}]", "scanner", &["(regex): patterns is missing: write a list of regular"]),
        ("scanners: [{type: regex, patterns: []}]", "scanner", &["patterns must be a list"]),
        ("scanners: [{type: regex, patterns: a}]", "scanner", &["patterns must be a list"]),
        ("scanners: [{type: regex, patterns: [a, '']}]", "scanner", &["patterns[1] is empty: remove it"]),
        ("scanners: [{type: regex, patterns: [a, 123]}]", "scanner", &["patterns[1] is not a text: put it in quotes"]),
        (
            "scanners: [{type: regex, patterns: ['[unclosed']}]",
            "scanner",
            &["patterns[0] is not a regular expression: unclosed"],
        ),
        (
            "scanners: [{type: regex, patterns: [valid, '(?P<x>']}]",
            "scanner",
            &["patterns[1] is not a regular expression"],
        ),
        ("scanners: [{type: regex, patterns: ['a(?=b)']}]", "scanner", &["look-around", "very long", "\\b"]),
        ("scanners: [{type: regex, patterns: ['(a)\\1']}]", "scanner", &["backreferences", "very long"]),
        ("scanners: [{type: regex, patterns: ['a*']}]", "scanner", &["patterns[0] matches the empty text", "+"]),
        ("scanners: [{type: regex, patterns: ['\\b']}]", "scanner", &["matches the empty text"]),
        ("scanners: [{type: regex, patterns: ['[a&&b]']}]", "scanner", &["has a part that can never match"]),
        (
            "scanners: [{type: regex, patterns: ['(\\w{100}){1000}']}]",
            "scanner",
            &["4194304 bytes", "simpler repetitions"],
        ),
        (
            "scanners: [{type: regex, patterns: [a], match_type: bogus}]",
            "scanner",
            &["match_type must be one of search, all, fullmatch"],
        ),
        (
            "scanners: [{type: regex, patterns: [a], is_blocked: 'no'}]",
            "scanner",
            &["is_blocked must be true or false"],
        ),
        (
            "scanners: [{type: regex, pattern: [a], patterns: [a]}]",
            "scanner",
            &["pattern is unknown: the fields here are type, action, patterns"],
        ),
        ("scanners: [{type: regex, patterns: [a], action: mask}]", "scanner", &["action must be one of redact, block"]),
        ("scanners: [{type: ban_substrings}]", "scanner", &["substrings is missing"]),
        ("scanners: [{type: ban_substrings, substrings: [a, null]}]", "scanner", &["substrings[1] is not a text"]),
        (
            "scanners: [{type: ban_substrings, substrings: [a], match_type: bogus}]",
            "scanner",
            &["match_type must be one of word, str"],
        ),
        (
            "scanners: [{type: ban_substrings, substrings: [a], case_sensitive: 'false'}]",
            "scanner",
            &["case_sensitive must be true or false, without quotes"],
        ),
        (
            "scanners: [{type: ban_substrings, substrings: [a], contains_all: 1}]",
            "scanner",
            &["contains_all must be true or false"],
        ),
        (
            "scanners: [{type: secrets, redact_mode: bogus}]",
            "scanner",
            &["redact_mode must be one of all, partial, hash"],
        ),
        ("scanners: [{type: secrets, redact_mode: all, redactMode: hash}]", "scanner", &["redact", "twice"]),
        (
            "scanners: [{type: sensitive, detectors: [email, bogus]}]",
            "scanner",
            &["detectors[1] must be one of email, credit_card"],
        ),
        ("scanners: [{type: sensitive, detectors: []}]", "scanner", &["detectors must be a list with at least one of"]),
        ("scanners: [{type: sensitive, detectors: email}]", "scanner", &["detectors must be a list"]),
        ("scanners: [{type: json, required_elements: -1}]", "scanner", &["required_elements must be a whole number"]),
        ("scanners: [{type: json, repair: 'yes'}]", "scanner", &["repair must be true or false"]),
        ("scanners: [{type: reading_time}]", "scanner", &["max_time is missing: write the minutes"]),
        ("scanners: [{type: reading_time, max_time: 0}]", "scanner", &["max_time must be more than 0"]),
        ("scanners: [{type: reading_time, max_time: -1}]", "scanner", &["max_time must be more than 0"]),
        ("scanners: [{type: reading_time, max_time: 1e999}]", "yaml", &["non-finite"]),
        ("scanners: [{type: reading_time, max_time: '1'}]", "scanner", &["max_time must be a number, without quotes"]),
        ("scanners: [{type: token_limit, limit: 0}]", "scanner", &["limit must be at least 1 token"]),
        ("scanners: [{type: token_limit, limit: 1.5}]", "scanner", &["limit must be a whole number"]),
        (
            "scanners: [{type: token_limit, encoding_name: p50k_base}]",
            "scanner",
            &["encoding_name must be one of cl100k_base"],
        ),
        (
            "scanners: [{type: token_limit, model_name: llama-3}]",
            "scanner",
            &["model_name is not a model whose encoding is known", "write encoding_name"],
        ),
        (
            "scanners: [{type: invisible_text, mode: x}]",
            "scanner",
            &["mode is unknown: the fields here are type, action"],
        ),
    ];
    for (yaml, kind, parts) in cases {
        let (found, text) = error(yaml);
        assert_eq!(found, *kind, "{yaml}: {text}");
        for part in *parts {
            assert!(text.contains(part), "{yaml}: {text} (not: {part})");
        }
    }
}

#[test]
fn bounds() {
    let long = "x".repeat(limits::MAX_POLICY_BYTES + 1);
    assert_eq!(error(&long).0, "too_large");
    let scanners = "  - type: secrets\n".repeat(limits::MAX_SCANNERS + 1);
    assert!(error(&format!("scanners:\n{scanners}")).1.contains("at most 64"));
    let patterns = vec!["a"; limits::MAX_PATTERNS + 1].join(", ");
    assert!(error(&format!("scanners: [{{type: regex, patterns: [{patterns}]}}]")).1.contains("more than 256"));
    let pattern = "a".repeat(limits::MAX_PATTERN_CHARS + 1);
    assert!(error(&format!("scanners: [{{type: regex, patterns: [{pattern}]}}]")).1.contains("longer than 2000"));
    let deep = format!("{}a{}", "(".repeat(500), ")".repeat(500));
    assert!(error(&format!("scanners: [{{type: regex, patterns: ['{deep}']}}]")).1.contains("patterns[0]"));
    let message = "a".repeat(limits::MAX_BLOCK_MESSAGE_CHARS + 1);
    assert!(error(&format!("blockMessage: {message}\nscanners: [{{type: secrets}}]")).1.contains("shorten"));
}

#[test]
fn errors_quote_no_pattern() {
    for yaml in [
        "scanners: [{type: regex, patterns: ['hunter2(']}]",
        "scanners: [{type: ban_substrings, substrings: [hunter2], match_type: hunter2}]",
        "scanners:\n  - type: regex\n    patterns: [hunter2\n",
        "hunter2",
    ] {
        let text = error(yaml).1;
        assert!(!text.contains("hunter2"), "{text}");
    }
}

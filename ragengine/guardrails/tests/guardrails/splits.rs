//! What a stream shows, however the answer is split.

use std::sync::LazyLock;

use proptest::prelude::*;
use ragengine_guardrails::{Outcome, Policy};
use regex::Regex;

use crate::support::{policy, split, streamed};

/// Patterns of many shapes. Each text in the tests is made of what they contain.
const PATTERNS: [&[&str]; 28] = [
    &["abc"],
    &["a+b"],
    &["a|ab|abc"],
    &["abc|ab|a"],
    &["ab*?"],
    &["a.*b"],
    &["(?s)a.*?b"],
    &[r"\bab\b"],
    &[r"ab\b"],
    &[r"\bab"],
    &[r"\Bab|é\b"],
    &[r"ab$"],
    &[r"^ab"],
    &[r"(?m)^ab$"],
    &[r"(?mR)^ab$"],
    &[r"\w+@\w+", r" +b"],
    &[r"[ab]{3,5} ?[ab]{2}"],
    &[r"é+|\s{2,}"],
    &[r"a\b.\bb"],
    &[".{3}b"],
    &[r"\b{start-half}a+\b{end-half}"],
    &["(?i)AB(?-i)a", "b", r"a\z"],
    &[r"a\b(?: b)?", r"b\b(?:@|x)?"],
    &[r"(?:a\b|c) ?", r"(?:ab)+?\B"],
    &[r"[abc é]{2,30}@", r"\s"],
    &[r"(?m)a$\s*b|^\s+"],
    &[r"(?s)a.*?bb?", r"c[^b]*?b"],
    &[r"(?s)(?:ab|a.*?c){2}", "b.?"],
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["a", "b", "c", "ab", "abc", " ", "  ", "@", "\n", "\r\n", "é", "B", "x"]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn yaml_list(patterns: &[&str]) -> String {
    patterns.iter().map(|pattern| format!("      - '{pattern}'\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_stream_shows_what_a_search_of_the_whole_text_finds(
        patterns in prop::sample::select(PATTERNS.to_vec()),
        text in text(),
        repeat in prop::sample::select(vec![1, 1, 1, 20]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let text = text.repeat(repeat);
        let policy = policy(&format!("scanners:\n  - type: regex\n    patterns:\n{}", yaml_list(patterns)));
        let whole = patterns.iter().map(|pattern| format!("(?:{pattern})")).collect::<Vec<_>>().join("|");
        let expected = Regex::new(&whole).unwrap().replace_all(&text, "[REDACTED]");
        let (shown, outcome) = streamed(&policy, split(&text, &cuts));
        prop_assert_eq!(&shown, &expected);
        prop_assert_eq!(outcome == Outcome::Redacted, expected != text);
        prop_assert_eq!(&policy.check(&text).text, &expected);
    }

    #[test]
    fn a_blocked_stream_shows_nothing_of_the_match(
        patterns in prop::sample::select(PATTERNS.to_vec()),
        text in text(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let list = yaml_list(patterns);
        let policy = policy(&format!("blockMessage: '<stop>'\nscanners:\n  - type: regex\n    action: block\n    patterns:\n{list}"));
        let whole = patterns.iter().map(|pattern| format!("(?:{pattern})")).collect::<Vec<_>>().join("|");
        let (shown, outcome) = streamed(&policy, split(&text, &cuts));
        match Regex::new(&whole).unwrap().find(&text) {
            None => prop_assert_eq!((shown, outcome), (text, Outcome::Passed)),
            Some(found) => {
                prop_assert_eq!(outcome, Outcome::Blocked);
                let before = shown.strip_suffix("<stop>").unwrap();
                let before = before.strip_suffix("\n\n").unwrap_or(before);
                prop_assert!(text[..found.start()].starts_with(before) , "{:?} {:?}", shown, text);
                prop_assert_eq!(policy.check(&text).text, "<stop>");
            }
        }
    }
}

const EVERYTHING: &str = r"
scanners:
  - type: ban_substrings
    substrings: [unsafe, For Internal Use Only, 'unsafe thing']
  - type: invisible_text
  - type: secrets
    redact_mode: partial
  - type: sensitive
  - type: regex
    patterns: ['https?://\S+', '(?i)ssn:\s*\d{3}-\d{2}-\d{4}']
  - type: token_limit
    limit: 60
  - type: reading_time
    max_time: 0.12
";

fn talk() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "unsafe",
        "un",
        "safe",
        "\u{200b}",
        "For Internal Use Only",
        " ",
        " ",
        "\n\n",
        ", ",
        "a",
        "the answer",
        "'s",
        "'",
        "alice@",
        "example.com",
        "10.0.0.1",
        "4111 1111 1111 1111",
        "4111",
        "+1 (206) 555-0100",
        "206-",
        "::1",
        "fe80::",
        "AKIA",
        "1234567890ABCDEF",
        "sk-",
        "abcdefghij0123456789",
        "Bearer ",
        "eyJhbGciOiJI.eyJzdWIi",
        "https://",
        "x",
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
        "-----END PRIVATE KEY-----",
        "ssn: 123-45-",
        "6789",
        "postgres://u:",
        "pass@",
        "日本語",
        "🙂\u{fe0f}",
        "1",
        "2026-11-25 10:30:00",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_split_changes_nothing(
        text in talk(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        static POLICY: LazyLock<Policy> = LazyLock::new(|| policy(EVERYTHING));
        let policy = &*POLICY;
        let checked = policy.check(&text);
        let (shown, outcome) = streamed(policy, split(&text, &cuts));
        prop_assert_eq!(&shown, &checked.text);
        prop_assert_eq!(outcome, checked.outcome);
        let (shown, _) = streamed(policy, text.chars().map(String::from).collect());
        prop_assert_eq!(&shown, &checked.text);
    }

    #[test]
    fn a_token_limit_keeps_the_first_tokens(
        text in "[a-zA-Z' \n.é日]{0,200}",
        limit in 1_usize..60,
        encoding in prop::sample::select(vec!["cl100k_base", "o200k_base"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let policy = policy(&format!("scanners: [{{type: token_limit, limit: {limit}, encoding_name: {encoding}}}]"));
        let tokenizer = if encoding == "cl100k_base" { bpe_openai::cl100k_base() } else { bpe_openai::o200k_base() };
        let tokens = tokenizer.encode(text.as_str());
        let bytes: usize = tokens.iter().take(limit).map(|token| tokenizer.bpe.token_len(*token)).sum();
        let (shown, outcome) = streamed(&policy, split(&text, &cuts));
        prop_assert_eq!(shown, &text[..text.floor_char_boundary(bytes)]);
        prop_assert_eq!(outcome == Outcome::Redacted, tokens.len() > limit);
    }
}

#[test]
fn a_match_in_progress_that_gets_too_long_fails_closed() {
    let long = "x".repeat(100_000);
    for (text, expected) in [
        // Where the match ends is known one character later.
        (format!("see <{long}>. end"), "see [REDACTED] end".to_owned()),
        (format!("see <{long}"), "see [REDACTED]".to_owned()),
        (format!("see <{long}>. and <b> end"), "see [REDACTED] and [REDACTED] end".to_owned()),
    ] {
        let policy = policy("scanners: [{type: regex, patterns: ['<[^<>]*>']}]");
        assert_eq!(policy.check(&text).text, expected);
        let pieces = text.as_bytes().chunks(7).map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect();
        assert_eq!(streamed(&policy, pieces).0, expected);
    }
    let policy = policy("scanners: [{type: regex, action: block, patterns: ['<[^<>]*>']}]");
    assert_eq!(policy.check(&format!("see <{long}")).outcome, Outcome::Blocked);
}

#[test]
fn text_of_which_no_part_can_match_for_long_is_not_held() {
    // Some pattern is always in progress, but no match is longer than twenty characters.
    let policy = policy(r"scanners: [{type: regex, patterns: ['\d{16}-\d{3}', '\S+@x', ' +y']}]");
    let mut stream = policy.stream();
    for text in ["1", "2 ", " "].repeat(20_000) {
        stream.push(text);
        assert!(stream.held_bytes() <= 128, "{} bytes are held", stream.held_bytes());
    }
    assert_eq!(stream.outcome(), Outcome::Passed);
}

#[test]
fn ordinary_text_is_shown_at_once() {
    let policy = Policy::parse(EVERYTHING).unwrap();
    let mut stream = policy.stream();
    assert_eq!(stream.push("The "), "The ");
    assert_eq!(stream.push("answer "), "answer ");
    assert_eq!(stream.push("is "), "is ");
    assert_eq!(stream.push("ready"), "");
    assert_eq!(stream.push(". "), "ready. ");
}

#[test]
fn matching_takes_time_proportional_to_the_text() {
    // A backtracking engine would need years for the first two.
    let cases = [
        (r"(a+)+$", "a".repeat(300_000)),
        (r"(?:a|aa)+b", "a".repeat(300_000)),
        (r".*[^A-Z]|[A-Z]", "A".repeat(300_000)),
        (r"\S+@\S+\.com", "a@".repeat(150_000)),
    ];
    for (pattern, text) in cases {
        let policy = policy(&format!("scanners: [{{type: regex, patterns: ['{pattern}']}}]"));
        let time = |text: &str| {
            let begun = std::time::Instant::now();
            policy.check(text);
            begun.elapsed().as_secs_f64()
        };
        time(&text);
        assert!(time(&text) < 60.0, "{pattern}");
    }
}

#[test]
fn more_states_than_fit_into_memory_change_nothing() {
    let patterns = [r"[ab].{120}c", r"(?:a|b)[abc]{30}d"];
    let list = yaml_list(&patterns);
    let policy = policy(&format!("scanners:\n  - type: regex\n    patterns:\n{list}"));
    let mut random = 12345_u64;
    let text: String = (0..40_000)
        .map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ['a', 'b', 'c', 'c', 'c', 'd', '\n', 'a'][(random >> 60) as usize % 8]
        })
        .collect();
    let whole = Regex::new(&patterns.map(|pattern| format!("(?:{pattern})")).join("|")).unwrap();
    let expected = whole.replace_all(&text, "[REDACTED]");
    assert!(policy.check(&text).text == expected);
    let pieces = text.as_bytes().chunks(3).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
    assert!(streamed::<String>(&policy, pieces).0 == expected);
}

#[test]
fn the_shortest_of_several_matches_is_settled_when_it_ends() {
    let policy = policy("scanners: [{type: regex, patterns: ['(?s)<think>.*?</think>']}]");
    for thought in [10, 1_000, 10_000, 15_000, 100_000] {
        let mut stream = policy.stream();
        let shown =
            stream.push("Well, <think>") + &stream.push(&"thought ".repeat(thought / 8)) + &stream.push("</think>");
        let mut shown = shown + &stream.push(" The answer");
        let mut pieces = 0;
        while !shown.contains("answer") && pieces < thought / 20 + 100 {
            shown.push_str(&stream.push(" is"));
            pieces += 1;
        }
        assert!(shown.contains("[REDACTED]") && (shown.contains("answer") || thought > 20_000), "{thought}: {shown}");
        assert_eq!(shown.matches("[REDACTED]").count(), 1);
        shown.push_str(&stream.push(" <think>more</think> at last"));
        shown.push_str(&stream.finish());
        assert!(shown.ends_with(" [REDACTED] at last"), "{thought}");
        assert!(shown.starts_with("Well, [REDACTED]"), "{thought}");
    }
}

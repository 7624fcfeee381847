use ragengine_guardrails::Outcome;
use ragengine_guardrails::limits::MAX_HELD_BYTES;

use crate::support::{blocked, one, passed, policy, redacted};

fn words(count: usize) -> String {
    vec!["word"; count].join(" ")
}

#[test]
fn reading_time() {
    passed(&one("type: reading_time, max_time: 1.0"), &[&words(60)]);
    passed(&one("type: reading_time, max_time: 0.5"), &[&words(100)]);
    passed(&one("type: reading_time, max_time: 0.5"), &[&words(100), " \n"]);
    passed(&one("type: reading_time, max_time: 1"), &[""]);
    let truncate = one("type: reading_time, max_time: 0.5, truncate: true");
    redacted(&truncate, &[&words(50), "\n\n", &words(250)], &format!("{}\n\n{}", words(50), words(50)));
    redacted(&one("type: reading_time, max_time: 0.5"), &[&words(300)], &format!("{} [REDACTED]", words(100)));
    blocked(&one("type: reading_time, max_time: 0.5, action: block"), &[&words(300)]);
    blocked(&one("type: reading_time, max_time: 0.5, action: block, truncate: true"), &[&words(101)]);
}

#[test]
fn words_within_the_reading_time_are_shown_at_once() {
    let policy = policy(&one("type: reading_time, max_time: 0.01"));
    let mut stream = policy.stream();
    assert_eq!(stream.push("two wo"), "two wo");
    assert_eq!(stream.push("rds "), "rds");
    assert_eq!(stream.push("more"), " [REDACTED]");
    assert_eq!(stream.push(" and more"), "");
}

#[test]
fn token_limit() {
    passed(&one("type: token_limit, limit: 100"), &["Hello world"]);
    passed(&one("type: token_limit, limit: 2"), &["Hello", " world"]);
    passed(&one("type: token_limit, limit: 100"), &[""]);
    passed(&one("type: token_limit"), &[&words(4096)]);
    redacted(&one("type: token_limit"), &[&words(4097)], &words(4096));
    redacted(&one("type: token_limit, limit: 5"), &[&words(50)], &words(5));
    redacted(&one("type: token_limit, limit: 10"), &[&words(100)], &words(10));
    blocked(&one("type: token_limit, limit: 5, action: block"), &[&words(50)]);
    // A token that ends within a character.
    redacted(&one("type: token_limit, limit: 1"), &["🦀", "🦀"], "");
}

#[test]
fn the_encoding_of_tokens() {
    // One token in o200k_base, several in cl100k_base.
    let text = [" информация", " 안녕하세요", " नमस्ते", " здравствуйте"]
        .into_iter()
        .find(|text| bpe_openai::o200k_base().count(*text) == 1 && bpe_openai::cl100k_base().count(*text) > 1)
        .unwrap();
    let count = |fields: &str| policy(&one(&format!("type: token_limit, limit: 1, {fields}"))).check(text).text == text;
    for fields in ["encoding_name: o200k_base", "model_name: gpt-4o-mini", "model: gpt-5", "model: openai/o3-mini"] {
        assert!(count(fields), "{fields}");
    }
    for fields in
        ["encoding_name: cl100k_base", "model_name: gpt-3.5-turbo", "model_name: gpt-4, encoding_name: o200k_base"]
    {
        assert!(!count(fields), "{fields}");
    }
}

#[test]
fn a_long_word_is_not_counted_again_and_again() {
    let policy = policy(&one("type: token_limit, limit: 1000"));
    let mut stream = policy.stream();
    let begun = std::time::Instant::now();
    for _ in 0..50_000 {
        stream.push("aeio");
    }
    stream.finish();
    assert!(begun.elapsed().as_secs() < 20);
}

#[test]
fn endless_space_at_the_reading_time_fails_closed() {
    let (two, space) =
        (|fields| one(&format!("type: reading_time, max_time: 0.01, {fields}")), " ".repeat(MAX_HELD_BYTES));
    passed(&two("truncate: true"), &["two words", &space]);
    redacted(&two("truncate: true"), &["two words", &space, " "], "two words");
    redacted(&two("truncate: false"), &["two words", &space, "\n"], &format!("two words{space}[REDACTED]"));
    blocked(&two("action: block"), &["two words", &space, " "]);
    let policy = policy(&two("truncate: true"));
    let mut stream = policy.stream();
    for _ in 0..100 {
        stream.push("two words");
        stream.push(&space);
        assert!(stream.held_bytes() <= MAX_HELD_BYTES);
    }
}

#[test]
fn nothing_is_held_after_the_token_limit() {
    // Ended while the text is counted, and at the end of the answer.
    for (fields, pieces) in
        [("limit: 5", ["one two three ", "four five six seven eight nine"]), ("limit: 2", ["one two", " three"])]
    {
        for action in ["redact", "block"] {
            let policy = policy(&one(&format!("type: token_limit, {fields}, action: {action}")));
            let mut stream = policy.stream();
            for piece in pieces {
                stream.push(piece);
                assert!(format!("{stream:?}").contains("held_bytes"));
            }
            stream.finish();
            assert_eq!(stream.held_bytes(), 0, "{fields} {action}");
            assert_ne!(stream.outcome(), Outcome::Passed);
        }
    }
}

use ragengine_guardrails::Outcome;

use crate::support::{blocked, one, passed, policy, redacted, streamed};

fn phrases(list: &str, more: &str) -> String {
    one(&format!("type: ban_substrings, substrings: {list}{more}"))
}

#[test]
fn the_case_of_letters() {
    redacted(&phrases("[secret]", ""), &["This contains SECRET"], "This contains [REDACTED]");
    redacted(&phrases("[SECRET]", ""), &["this is secret info"], "this is [REDACTED] info");
    redacted(&phrases("[unsafe]", ""), &["UNSAFE unsafe"], "[REDACTED] [REDACTED]");
    redacted(&phrases("[secret]", ", case_sensitive: true"), &["This contains secret"], "This contains [REDACTED]");
    passed(&phrases("[SECRET]", ", case_sensitive: true"), &["this is secret info"]);
    redacted(&phrases("[ÄRGER]", ""), &["kein Ä", "rger"], "kein [REDACTED]");
}

#[test]
fn a_word_is_not_a_part_of_another() {
    for text in ["This contains secrets", "nosecret", "secret_", "sécret", "secreté"] {
        passed(&phrases("[secret]", ""), &[text]);
    }
    redacted(&phrases("[test]", ""), &["testing this test case"], "testing this [REDACTED] case");
    redacted(&phrases("[testing]", ""), &["test testing case"], "test [REDACTED] case");
    passed(&phrases("[unsafe]", ""), &["unsafeish"]);
}

#[test]
fn a_string_may_be_a_part_of_a_word() {
    let str = ", match_type: str";
    redacted(&phrases("[secret]", str), &["This contains secrets"], "This contains [REDACTED]s");
    redacted(&phrases("[unsafe]", str), &["unsafeish"], "[REDACTED]ish");
    for (text, shown) in
        [("testing", "[REDACTED]ing"), ("atestb", "a[REDACTED]b"), ("test", "[REDACTED]"), ("TEST", "[REDACTED]")]
    {
        redacted(&phrases("[test]", str), &[text], shown);
    }
    passed(&phrases("[test]", str), &["hello world"]);
}

#[test]
fn every_occurrence_of_every_phrase() {
    redacted(&phrases("[secret]", ""), &["secret and SECRET both secret"], "[REDACTED] and [REDACTED] both [REDACTED]");
    redacted(&phrases("[secret, password]", ""), &["This has secret"], "This has [REDACTED]");
    redacted(&phrases("[unsafe, prohibited]", ""), &["unsafe and prohibited"], "[REDACTED] and [REDACTED]");
    redacted(&phrases("[For Internal Use Only, For Internal]", ""), &["For Internal Use Only."], "[REDACTED].");
    // Of two that overlap, the first is replaced, and the other is no longer there.
    redacted(&phrases("[abab, baba]", ", match_type: str"), &["ababa"], "[REDACTED]a");
}

#[test]
fn all_phrases_together() {
    let all = ", contains_all: true";
    passed(&phrases("[secret, password]", all), &["This has secret but not pass"]);
    passed(&phrases("[admin, password]", all), &["admin only"]);
    passed(&phrases("[admin, password]", all), &["nothing bad here"]);
    passed(&phrases("[secret, key]", all), &[""]);
    redacted(&phrases("[admin, password]", all), &["admin pass", "word"], "[REDACTED] [REDACTED]");
    // One phrase that is in another counts for both.
    redacted(&phrases("[ab, abc]", ", contains_all: true, match_type: str"), &["abc"], "[REDACTED]");
    blocked(&phrases("[admin, password]", ", contains_all: true, action: block"), &["admin pass", "word"]);
}

#[test]
fn an_empty_answer() {
    passed(&phrases("[secret]", ""), &[""]);
    passed(&phrases("[secret]", ""), &[]);
}

#[test]
fn a_phrase_that_is_split() {
    redacted(&phrases("[unsafe]", ", match_type: str"), &["prefix un", "safe suffix"], "prefix [REDACTED] suffix");
    let long = "x".repeat(300);
    redacted(&phrases(&format!("[{long}]"), ", match_type: str"), &[&long[..270], &long[270..]], "[REDACTED]");
    let long = "a".repeat(300);
    redacted(&phrases(&format!("[{long}]"), ""), &[&long, " suffix"], "[REDACTED] suffix");
    blocked(&phrases("[bad]", ", match_type: str, action: block"), &["safe b", "ad text"]);
    blocked(&phrases("[badword]", ", action: block"), &["bad", "word", " tail"]);
    blocked(&phrases("[badword]", ", action: block"), &["hello ", "world ", "bad", "word"]);
    redacted(&phrases("[badword]", ""), &["bad", "word", " tail"], "[REDACTED] tail");
}

#[test]
fn a_boundary_that_arrives_late() {
    let prefix = format!("{} unsafe", "p".repeat(300));
    let word = phrases("[unsafe]", "");
    passed(&word, &[&prefix, "ish"]);
    passed(&phrases("[unsafe]", ", action: block"), &[&prefix, "ish"]);
    redacted(&word, &[&prefix, " suffix"], &format!("{} [REDACTED] suffix", "p".repeat(300)));
    redacted(&word, &[&prefix], &format!("{} [REDACTED]", "p".repeat(300)));
    blocked(&phrases("[unsafe]", ", action: block"), &[&prefix]);
}

#[test]
fn a_boundary_before_text_that_is_shown() {
    let prefix = format!("{}xunsafe ", "p".repeat(300));
    let mut pieces = vec![prefix.as_str()];
    pieces.resize(301, "q");
    passed(&phrases("[unsafe]", ""), &pieces);
    passed(&phrases("[unsafe]", ", action: block"), &pieces);
    passed(&phrases("[unsafe]", ""), &["x", "unsafe"]);
}

#[test]
fn a_phrase_that_ends_with_a_sign() {
    let prefix = format!("{} unsafe-", "p".repeat(300));
    for action in ["redact", "block"] {
        passed(&phrases("[unsafe-]", &format!(", action: {action}")), &[&prefix, " suffix"]);
    }
    redacted(&phrases("[unsafe-]", ""), &[&prefix, "x suffix"], &format!("{} [REDACTED]x suffix", "p".repeat(300)));
    blocked(&phrases("[unsafe-]", ", action: block"), &[&prefix, "x suffix"]);
    redacted(&phrases("['.']", ""), &[&"p".repeat(300), " a.b "], &format!("{} a[REDACTED]b ", "p".repeat(300)));
}

#[test]
fn a_phrase_of_one_character() {
    for (phrase, text) in [("x", "x"), ("X", "x")] {
        let shown = format!("{} [REDACTED] tail", "p".repeat(300));
        redacted(&phrases(&format!("[{phrase}]"), ""), &[&"p".repeat(300), " ", text, " tail"], &shown);
    }
}

#[test]
fn a_block_says_so_at_once_and_for_good() {
    let policy = policy(&phrases("[unsafe]", ", action: block, match_type: str"));
    let mut stream = policy.stream();
    assert_eq!(stream.push("hello "), "hello ");
    assert_eq!(stream.push("uns"), "");
    assert_eq!(stream.push("afe text"), "\n\n<stop>");
    assert_eq!(stream.outcome(), Outcome::Blocked);
    assert_eq!(stream.triggered(), ["ban_substrings"]);
    assert_eq!(stream.held_bytes(), 0);
    assert_eq!(stream.push("later"), "");
    assert_eq!(stream.finish(), "");
    assert_eq!(stream.outcome(), Outcome::Blocked);
    // Nothing was shown before: the message stands alone.
    assert_eq!(streamed(&policy, vec!["bad content: unsafe. It"]), ("<stop>".to_owned(), Outcome::Blocked));
}

#[test]
fn a_match_at_the_end_is_found_when_the_answer_ends() {
    let policy = policy(&phrases("[bad]", ", action: block"));
    let mut stream = policy.stream();
    assert_eq!(stream.push("bad"), "");
    assert_eq!(stream.outcome(), Outcome::Passed);
    assert_eq!(stream.finish(), "<stop>");
    assert_eq!(stream.outcome(), Outcome::Blocked);
}

#[test]
fn the_rest_is_shown_when_the_answer_ends() {
    let policy = policy(&phrases("[tailor]", ""));
    let mut stream = policy.stream();
    assert_eq!(stream.push("tail"), "");
    assert_eq!(stream.held_bytes(), 4);
    assert_eq!(stream.finish(), "tail");
    assert_eq!(stream.finish(), "");
    assert_eq!(stream.push("later"), "");
}

#[test]
fn small_and_large_pieces() {
    let large = "b".repeat(100_000);
    passed(&phrases("[unsafe]", ""), &["", "a", &large]);
}

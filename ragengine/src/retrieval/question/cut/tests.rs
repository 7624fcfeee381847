use proptest::prelude::*;

use super::*;

/// A tokenizer for which each word is a token.
fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn numbered(count: usize) -> String {
    (0..count).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_question_that_fits_is_one_unchanged_window() {
    for text in ["one two", " spaces stay ", &numbered(10)] {
        assert_eq!(cut(text, 10, 1, &words, &Waiter::default()).unwrap(), [text]);
    }
}

#[test]
fn a_question_at_the_end_of_a_long_paste_has_its_own_window() {
    let question = "How long is a month on the moon?";
    let windows = cut(&format!("{}.\n\n{question}", numbered(100)), 20, 20, &words, &Waiter::default()).unwrap();
    assert_eq!(windows.last().unwrap(), question);
    let windows = cut(&format!("{question}\n\n{}.", numbered(100)), 20, 20, &words, &Waiter::default()).unwrap();
    assert!(windows.contains(&question.to_owned()), "{windows:?}");
}

/// Repeats a line beyond [`END_BYTES`].
fn much(line: &str) -> String {
    line.repeat(2 * END_BYTES / line.len())
}

#[test]
fn a_question_at_either_end_has_its_own_window() {
    let question = "How long is a month on the moon?";
    let code = format!("```\n{}```\n", much("let x = 1;\n"));
    let log = much("12:00:01 INFO worker started\n");
    let one_line = much("word ");
    for (text, asked) in [
        // After a code block whose opening fence is beyond the end.
        (format!("{code}{question}"), question),
        (format!("{code}How long is a month\non the moon?"), question),
        (format!("{question}\n{code}"), question),
        // Next to lines without full stops.
        (format!("{log}{question}"), question),
        (format!("{log}{question}\r\n\r\n---\r\n"), question),
        (format!("{question}\n{log}"), question),
        (format!("{}\u{2028}{question}", one_line.trim_end()), question),
        // With fewer words than a sentence.
        (format!("{log}Sick leave?"), "Sick leave?"),
        (format!("Sick leave?\n\n{log}"), "Sick leave?"),
        (format!("{one_line}end. Sick leave?"), "Sick leave?"),
        (format!("Sick leave? {one_line}"), "Sick leave?"),
        // A heading.
        (format!("{log}# Sick leave"), "# Sick leave"),
    ] {
        let windows = cut(&text, 20, 1000, &words, &Waiter::default()).unwrap();
        let end = &text[text.floor_char_boundary(text.len() - 60)..];
        assert!(windows.iter().any(|window| window == asked), "{asked} in {end:?}");
    }
}

#[test]
fn the_text_at_an_end_is_not_repeated() {
    let text = format!("What is it?\n\n{}.\n\nSick leave?", numbered(100));
    let windows = cut(&text, 20, 20, &words, &Waiter::default()).unwrap();
    for end in ["What is it?", "Sick leave?"] {
        assert_eq!(windows.iter().filter(|window| *window == end).count(), 1, "{windows:?}");
    }
}

#[test]
fn windows_overlap_and_reach_the_end_of_the_question() {
    let windows = cut(&numbered(35), 20, 20, &words, &Waiter::default()).unwrap();
    assert_eq!(windows.len(), 2, "{windows:?}");
    assert!(windows[0].ends_with("word19") && windows[1].starts_with("word18 ") && windows[1].ends_with("word34"));
}

#[test]
fn the_error_for_a_long_question_names_the_limit() {
    let too_long =
        |text: &str, max_windows| cut(text, 20, max_windows, &words, &Waiter::default()).unwrap_err().to_string();
    let words = too_long(&numbered(400), 4);
    for said in ["400 tokens", "at most about 72 tokens", "retrieval.maxQuestionWindows"] {
        assert!(words.contains(said), "{said}: {words}");
    }
    // A text that cannot fit is refused without counting.
    let counted = |_: &str| panic!("counted");
    let error =
        cut(&"x".repeat(20 * 4 * MAX_BYTES_PER_QUERY_TOKEN + 1), 20, 4, &counted, &Waiter::default()).unwrap_err();
    assert!(error.to_string().contains("5121 bytes"), "{error}");
    // Too many windows, because of their overlap.
    assert!(too_long(&numbered(75), 4).contains("75 tokens"));
}

#[test]
fn a_question_of_few_tokens_and_many_bytes_is_split() {
    let gap = " ".repeat(20 * MAX_BYTES_PER_QUERY_TOKEN);
    let windows = cut(&format!("first of all{gap}and the question"), 20, 20, &words, &Waiter::default()).unwrap();
    assert!(windows.iter().all(|window| window.len() <= 20 * MAX_BYTES_PER_QUERY_TOKEN));
    assert!(windows.iter().any(|window| window.ends_with("and the question")), "{windows:?}");
}

#[test]
fn short_texts_are_known_to_fit() {
    // text, limit, expected
    let table = [
        ("", 0, false),
        ("", 1, true),
        ("abc", 3, false),
        ("abc", 4, true),
        ("äb", 23, false),
        ("äb", 24, true),
        ("ﷺ", 33, false),
        ("ﷺ", 34, true),
    ];
    for (text, limit, expected) in table {
        assert_eq!(surely_fits(text, limit), expected, "{text} {limit}");
    }
}

proptest! {
    /// Every word is in a window, and every window fits.
    #[test]
    fn nothing_is_left_out(
        text in "([a-z]{1,9}[ .\n]{1,3}){1,80}",
        max_tokens in 4_usize..30,
    ) {
        let windows = cut(&text, max_tokens, 1000, &words, &Waiter::default()).unwrap();
        for window in &windows {
            prop_assert!(words(window) <= max_tokens, "{}", window);
        }
        let all: Vec<&str> = windows.iter().flat_map(|window| window.split_whitespace()).collect();
        // A window may end after a full stop that no space follows.
        for word in text.split(['.', ' ', '\n']) {
            prop_assert!(all.iter().any(|other| other.contains(word)), "{} {:?}", word, windows);
        }
    }

    #[test]
    fn texts_that_surely_fit_do_fit(text in "\\PC{0,40}", limit in 0_usize..200) {
        if surely_fits(&text, limit) {
            prop_assert!(text.len() < limit);
        }
    }
}

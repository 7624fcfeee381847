use super::window::MAX_HELD_BYTES;
use super::*;

/// Finds question marks.
struct Questions;

impl Syntax for Questions {
    type Item = ();

    fn begins(character: char) -> bool {
        character == '?'
    }

    fn read(_: Window<'_>, _: Place) -> Reading<()> {
        Reading::Item(1, ())
    }
}

/// The text with `!` for each sign that was found.
fn found(text: &str) -> String {
    let (mut scanner, mut found) = (Scanner::<Questions>::default(), String::new());
    let mut add = |token: Token<'_, ()>| match token {
        Token::Text(text) => found.push_str(text),
        Token::Item(()) => found.push('!'),
    };
    scanner.push(text, &mut add);
    scanner.finish(&mut add);
    found
}

#[test]
fn signs_are_found_outside_code() {
    for (text, expected) in [
        ("? `?` ? ``?`?`` ? \\? \\\\?", "! `?` ! ``?`?`` ! \\? \\\\!"),
        ("`?\n?`? `?\n\n?`", "`?\n?`! `!\n\n!`"),
        ("```?\n?\n``\n```?\n ```\t\n?", "```?\n?\n``\n```?\n ```\t\n!"),
        ("~~~ `?`\n?\n~~~~\n?", "~~~ `?`\n?\n~~~~\n!"),
        ("- > ```\n?\n> ```\n?", "- > ```\n?\n> ```\n!"),
        ("``` ?` \n?", "``` !` \n!"),
        ("```\n?\n```", "```\n?\n```"),
        ("a ```\n?\n```", "a ```\n!\n```"),
        ("? \\a? \\é? \\\n```\n? \\", "! \\a! \\é! \\\n```\n? \\"),
        ("? \\", "! \\"),
        ("?\r\n\r\n```\r\n?\r\n```\r\n?", "!\r\n\r\n```\r\n?\r\n```\r\n!"),
    ] {
        assert_eq!(found(text), expected, "{text:?}");
    }
}

#[test]
fn a_code_span_ends_with_its_paragraph() {
    for begins_block in ["#", "|", "\n", "\r\n", "- ", "*\t", "+ ", "1. ", "12) ", "123456789. ", "> - "] {
        let text = format!("`?\n{begins_block}?`");
        assert_eq!(found(&text), text.replace('?', "!"), "{text:?}");
    }
    for continues in ["", "\t", "-", "-\u{a0}", "1", "1.", "1, ", "1- ", ". ", ") ", "1234567890. ", "> ", "` "] {
        let text = format!("`?\n{continues}`");
        assert_eq!(found(&text), text, "{text:?}");
    }
}

#[test]
fn each_beginning_of_a_line_each_sign_and_each_text_is_a_decision() {
    let mut scanner = Scanner::<Questions>::default();
    scanner.push("Why?\nSo.", |_| {});
    assert_eq!(scanner.decisions, ["", "Why", "?", "\n", "", "So."].len());
}

#[test]
fn a_decision_looks_ahead_a_bounded_distance() {
    let span = |bytes: usize| format!("`{} ?{}`", "a".repeat(2000), "b".repeat(bytes));
    assert_eq!(found(&span(MAX_HELD_BYTES - 10)), span(MAX_HELD_BYTES - 10));
    assert_eq!(found(&span(MAX_HELD_BYTES)), span(MAX_HELD_BYTES).replace('?', "!"));
    // What is certain is passed on without waiting for the end of the text.
    for (behind, expected) in [(MAX_HELD_BYTES - 1, 0), (MAX_HELD_BYTES, 1)] {
        let (mut scanner, mut signs) = (Scanner::<Questions>::default(), 0);
        scanner.push(&format!("` ?{}", "b".repeat(behind)), |token| signs += usize::from(token == Token::Item(())));
        assert_eq!(signs, expected, "{behind}");
    }
}

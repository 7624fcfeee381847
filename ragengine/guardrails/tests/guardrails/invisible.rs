use crate::support::{blocked, one, passed, policy, redacted};

fn invisible(more: &str) -> String {
    one(&format!("type: invisible_text{more}"))
}

#[test]
fn invisible_characters_are_removed() {
    for (name, text, shown) in [
        ("zero-width space", "hello\u{200b}world", "helloworld"),
        ("zero-width non-joiner", "Hello\u{200c}World", "HelloWorld"),
        ("several", "hello\u{200b}\u{200c}world", "helloworld"),
        ("byte order mark", "\u{feff}hello", "hello"),
        ("control character", "Hello\u{0}World", "HelloWorld"),
        ("controls of direction", "a\u{202e}b\u{2066}c\u{2069}", "abc"),
        ("tags", "a\u{e0041}\u{e0042}b", "ab"),
        ("private use", "a\u{e000}b", "ab"),
        ("no character", "a\u{378}b", "ab"),
        ("soft hyphen", "a\u{ad}b", "ab"),
        ("blank letter", "a\u{3164}b", "ab"),
        ("supplementary selectors", "a\u{e0100}\u{e01ef}b", "ab"),
        ("hidden in a run of selectors", "🙂\u{fe0f}\u{fe0f}\u{fe0e}\u{fe0e}", "🙂"),
        ("nothing else", "\u{200b}", ""),
    ] {
        let policy = policy(&invisible(""));
        assert_eq!(policy.check(text).text, shown, "{name}");
        redacted(&invisible(""), &[text], shown);
        blocked(&invisible(", action: block"), &[text]);
    }
}

#[test]
fn visible_text_stays() {
    for text in [
        "Hello World",
        "",
        "tab\tline\r\nline\n",
        "❤\u{fe0f} 🙂",
        "日本語",
        "e\u{301}",
        "\u{600}123",
        "العربية",
        "a\u{a0}b",
    ] {
        passed(&invisible(""), &[text]);
    }
}

#[test]
fn visible_text_is_not_held() {
    let policy = policy(&invisible(""));
    let mut stream = policy.stream();
    let text = "a".repeat(300);
    assert_eq!(stream.push(&text), text);
    assert_eq!(stream.push("\u{200b}"), "");
    assert_eq!(stream.push("tail"), "tail");
    assert_eq!(stream.finish(), "");
}

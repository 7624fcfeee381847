//! Elements that are longer than a decision looks ahead.

use super::*;

/// The text of an answer that arrives as a whole. It is the same if it arrives in pieces.
fn converted(answer: &str) -> String {
    let whole = post_process(answer);
    let characters: Vec<char> = answer.chars().collect();
    for size in [1, 7, 100] {
        let mut stream = PostProcessStream::default();
        let pieces = characters.chunks(size).map(|piece| stream.push(&piece.iter().collect::<String>()));
        let text: String = pieces.collect();
        assert_eq!(text + &stream.finish(), whole, "{size} {answer:?}");
    }
    whole
}

#[test]
fn long_scripts_and_style_sheets_are_hidden_to_their_end() {
    for (start, line, end) in [
        ("<script>", "x = 1;\n", "</script>"),
        ("<script src='a'>", "\nfunction f(a) {\n  return `${a}<b>`\n}\n", "</SCRIPT\n>"),
        ("<script>", "var a=1;if(a<2){f(a)};", "</script>"),
        ("<script type='application/ld+json'>{", "\n  \"name\": \"A product\",", "\n}</script>"),
        ("<script>", "// What follows is a remark;\n", "</script>"),
        ("<style>\n", "* {\n  color: red;\n}\n\n", "</style>"),
        ("<style>", "p{color:red}", "</style>"),
    ] {
        for times in [1, 60, 600] {
            let answer = format!("a{start}{}{end}b", line.repeat(times));
            assert_eq!(converted(&answer), "ab", "{times} {start:?} {line:?}");
        }
    }
}

#[test]
fn a_script_that_is_never_closed_does_not_hide_the_prose_behind_it() {
    let code = "const x = 1;\n".repeat(100);
    for prose in ["Then reload the page [2].", "- Then reload the page [2].", "```\nx = 1;\n```\nReload [2]."] {
        assert_eq!(converted(&format!("Add <script>\n{code}\n{prose}")), format!("Add \n\n{prose}"));
    }
    assert_eq!(converted(&format!("Add <script>\n{code}")), "Add ");
}

#[test]
fn a_long_text_behind_a_mentioned_tag_is_shown() {
    let long = "Then reload the page, or set x = 1; that works, too [2].\n".repeat(30);
    for behind in [
        " (inline) [1]. ",
        " tags hold { and }; ",
        ", which is old; ",
        "\n\n",
        ": p { color: red; }. ",
        "-Tags; ",
        " tag:\n\n```js\nx = 1;\ny = 2;\n```\n",
        "\u{6807}\u{7b7e};\n",
    ] {
        for name in ["script", "style"] {
            let answer = format!("a <{name}>{behind}{long}");
            assert_eq!(converted(&answer), format!("a {behind}{long}"), "{name} {behind:?}");
        }
    }
    for name in ["script", "style"] {
        let listed = format!("a <{name}>{}", " p { x = 1; }".repeat(60));
        assert_eq!(converted(&listed), listed.replace(&format!("<{name}>"), ""), "{name}");
    }
}

#[test]
fn long_preformatted_text_has_a_fence() {
    for first in ["def f():", "  x  y", "$ make all", "-rw-r--r-- 1 a", "\"a\": 1", "\u{250c}\u{2500}"] {
        let code = format!("{first}\n{}", "    x = 1\n".repeat(100));
        assert_eq!(converted(&format!("<pre>{code}</pre>")), format!("```\n{code}```"), "{first:?}");
    }
    let prose = "Then reload the page [2].\n".repeat(30);
    for behind in [" for code [1].\n", ", or\n", "\u{6807}\u{7b7e}\n", "-Tags\n", "s are for code.\n\n", "\" is\n"] {
        assert_eq!(converted(&format!("a <pre>{behind}{prose}")), format!("a {behind}{prose}"), "{behind:?}");
    }
}

use proptest::prelude::*;

use super::*;
use crate::prompt::{Boundary, Passage, block, context};
use crate::request::ContextFormat;

#[test]
fn lines_like_a_boundary_are_escaped() {
    for (line, escaped) in [
        ("--- 4 8 2 1", "\\--- 4 8 2 1"),
        ("---end", "\\---end"),
        ("---", "\\---"),
        ("  ----- ", "  \\----- "),
        ("> **--- 4 8**", "> **\\--- 4 8**"),
        ("- --- 4", "- \\--- 4"),
        ("\u{2014}\u{2014}\u{2014} 4", "\\\u{2014}\u{2014}\u{2014} 4"),
        ("\u{200b}-\u{200b}-- 4", "\\--- 4"),
        ("-\u{332}-\u{332}-\u{332} 4", "\\-\u{332}-\u{332}-\u{332} 4"),
        ("--- \u{ff14} \u{ff18}", "\\--- \u{ff14} \u{ff18}"),
        ("a\n--- 4\rb\r--- 5\u{2028}--- 6\u{c}--- 7", "a\n\\--- 4\rb\r\\--- 5\n\\--- 6\n\\--- 7"),
        ("=== 4 8 2 1", "\\=== 4 8 2 1"),
        ("> **\u{ff1d}\u{ff1d}\u{ff1d} 4**", "> **\\\u{ff1d}\u{ff1d}\u{ff1d} 4**"),
        // Tables, lists and prose are not escaped.
        ("---|---", "---|---"),
        ("| --- | :---: |", "| --- | :---: |"),
        ("-- 4 8", "-- 4 8"),
        ("- - - 4", "- - - 4"),
        ("a --- 4", "a --- 4"),
        ("<!-- 4 -->", "<!-- 4 -->"),
        ("=====", "====="),
        ("=== Wages", "=== Wages"),
        ("a === 4", "a === 4"),
        ("\\--- 4 \\=== 4", "\\--- 4 \\=== 4"),
        ("\\=== 4", "\\=== 4"),
        ("", ""),
    ] {
        assert_eq!(text(line), escaped, "{line:?}");
    }
}

#[test]
fn bracketed_numbers_are_escaped_except_indices() {
    for (line, escaped) in [
        ("[2] Handbook · https://e/h", "\\[2] Handbook · https://e/h"),
        ("As Smith says [12], and [3].", "As Smith says \\[12], and \\[3]."),
        ("It is so.[2][3]", "It is so.\\[2]\\[3]"),
        ("**[2]**", "**\\[2]**"),
        ("# [2] Head", "# \\[2] Head"),
        ("\u{feff}[ 2\u{200b} ] x", "\\[ 2 ] x"),
        ("[2\u{332}] [1\u{fe0f}\u{20e3}]", "\\[2\u{332}] \\[1\u{fe0f}\u{20e3}]"),
        ("\u{3010}2\u{3011} \u{ff3b}\u{ff12}\u{ff3d}", "\\\u{3010}2\u{3011} \\\u{ff3b}\u{ff12}\u{ff3d}"),
        ("[\u{665}] [\u{2461}]", "\\[\u{665}] \\[\u{2461}]"),
        ("[1](https://e) [2]: x", "\\[1](https://e) \\[2]: x"),
        // After markup.
        ("_[2] Handbook_", "_\\[2] Handbook_"),
        (")[2] Head", ")\\[2] Head"),
        ("][2] Head", "]\\[2] Head"),
        ("_It is free_[2]", "_It is free_\\[2]"),
        ("**Free**[2] (free)[0]", "**Free**\\[2] (free)\\[0]"),
        // Directly after a word of prose.
        ("refunded in full[2]", "refunded in full\\[2]"),
        ("in full[2]. In full[2]; in full[2]", "in full\\[2]. In full\\[2]; in full\\[2]"),
        ("==free[2]== full[2](https://e)", "==free\\[2]== full\\[2](https://e)"),
        ("in 2020[2] by A380[3]", "in 2020\\[2] by A380\\[3]"),
        // Several numbers.
        ("[1, 2] [1;2] [1\u{2013}3] [1,\n2]", "\\[1, 2] \\[1;2] \\[1\u{2013}3] \\[1,\n2]"),
        ("a_b[1, 2] a_b[1\n][2]", "a_b\\[1, 2] a_b\\[1\n]\\[2]"),
        // An index in code is not escaped: see `is_index_of`.
        ("row_values[2] + row_values[1][2]", "row_values[2] + row_values[1][2]"),
        ("args[1] = x; args[1].name", "args[1] = x; args[1].name"),
        ("a_[0] + args[0] + m[0][0]", "a_[0] + args[0] + m[0][0]"),
        ("args[1] + f(x)[2] + m[0][2]", "args\\[1] + f(x)\\[2] + m[0]\\[2]"),
        // Other brackets are not escaped.
        ("[x] [] [ ] [a1] [1a] [-1] [1:] [:2] [1.5] [1", "[x] [] [ ] [a1] [1a] [-1] [1:] [:2] [1.5] [1"),
        // An escaped number is not escaped again. A backslash that is escaped itself escapes nothing.
        ("\\[2] \\[2][3]", "\\[2] \\[2]\\[3]"),
        ("\\\\[2] \\\\\\[2]", "\\\\\\[2] \\\\\\[2]"),
    ] {
        assert_eq!(text(line), escaped, "{line:?}");
    }
}

#[test]
fn marks_of_chat_templates_are_escaped() {
    for (line, escaped) in [
        ("<|im_end|>\n<|im_start|>system", "<\\|im_end|>\n<\\|im_start|>system"),
        ("a</s><s>[INST] b [/INST]", "a<\\/s><\\s>[\\INST] b [\\/INST]"),
        ("<<SYS>> <start_of_turn> <bos>", "<\\<SYS>> <\\start_of_turn> <\\bos>"),
        ("<|turn>user <turn|> <think>", "<\\|turn>user <\\turn|> <\\think>"),
        ("[TOOL_CALLS] [gMASK] [|endofturn|]", "[\\TOOL_CALLS] [\\gMASK] [\\|endofturn|]"),
        ("<|im_\u{200b}e\u{e0041}nd|> </\u{ad}s>", "<\\|im_end|> <\\/s>"),
        ("\u{ff1c}|im_end|\u{ff1e} \u{ff3b}INST\u{ff3d}", "\u{ff1c}\\|im_end|\u{ff1e} \u{ff3b}\\INST\u{ff3d}"),
        ("<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>", "<\\\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>"),
        ("f <| g |> h, a <|> b, <||>, <b>, <|x>, [|a|", "f <| g |> h, a <|> b, <||>, <b>, <|x>, [|a|"),
    ] {
        assert_eq!(text(line), escaped, "{line:?}");
    }
    let long = format!("<|{}|>", "x".repeat(64));
    assert_eq!(text(&long), format!("<\\|{}|>", "x".repeat(64)));
    let too_long = format!("<|{}|>", "x".repeat(65));
    assert_eq!(text(&too_long), too_long);
}

#[test]
fn a_label_is_one_line_without_the_separator() {
    for (part, shown) in [
        (" A\r\n\u{2028}B\u{85}\u{0}C ", "A B C"),
        ("A \u{200b} B \u{202e}C", "A B \\u{202E}C"),
        ("\u{200b}\u{e0041} \u{feff}", ""),
        ("Handbook · https://bank.example", "Handbook - https://bank.example"),
        ("[2] Other", "\\[2] Other"),
        ("\n--- 4 8", "\\--- 4 8"),
        (" \n", ""),
    ] {
        assert_eq!(label(part), shown, "{part:?}");
    }
}

#[test]
fn quotes_inside_a_quotation_are_replaced() {
    for (part, shown) in [
        (" Hand\nbook ", "“Hand book”"),
        ("A \"B\" “C” \u{201e}D\u{201f}", "“A 'B' 'C' 'D'”"),
        ("x\\", "“x\\”"),
        ("[2] Other", "“\\[2] Other”"),
        (" \n", ""),
    ] {
        assert_eq!(quotation(part), shown, "{part:?}");
    }
}

#[test]
fn plain_text_is_not_copied() {
    for plain in ["", "Wages come monthly - on the last day.\n| a | b |\n|---|---|\n", "let x = a[0] < b_c[1];"] {
        assert!(matches!(text(plain), Cow::Borrowed(_)), "{plain}");
    }
}

#[test]
fn most_prose_is_known_to_be_plain_by_its_bytes() {
    for (text, expected) in [
        ("", true),
        ("Wages come monthly - on the last day.\r\n\t~ a == b -- c", true),
        ("a[0]", false),
        ("a < b", false),
        ("|---|", false),
        ("a === b", false),
        ("Größe", false),
        ("a\u{0}", false),
    ] {
        assert_eq!(is_plain(text), expected, "{text:?}");
    }
}

/// Texts of the characters and words that the lines of a prompt consist of, and some random characters.
fn pieces() -> impl Strategy<Value = String> {
    const SIGNS: &[&str] = &[
        "\u{202e}",
        "\u{2069}",
        "\u{200d}",
        "\u{200c}",
        "\u{fe0f}",
        "\u{20e3}",
        "\u{1f469}",
        "\u{1f3fd}",
        "\u{628}",
        "\u{915}",
        "\u{94d}",
        "\u{3164}",
        "\u{332}",
        "=",
        "===",
        "<s",
        "\u{ff1c}",
        "\n",
        "\r",
        "\u{2028}",
        "\u{c}",
        " ",
        "\u{200b}",
        "\u{feff}",
        "[",
        "]",
        "\u{ff3b}",
        "\u{ff3d}",
        "1",
        "2",
        "42",
        "\u{ff12}",
        ",",
        "-",
        "--",
        "---",
        "\u{2014}",
        "- ",
        "\\",
        "a",
        "_",
        ")",
        "a_b",
        " = ",
        ".a",
        "*",
        "> ",
        "# ",
        "|",
        "·",
        "\"",
        "“",
        "”",
        "page 7",
        "://",
        "<|",
        "|>",
        "<",
        ">",
        "im_end",
        "</s>",
        "[INST]",
        "\u{0}",
    ];
    let piece = prop_oneof![8 => proptest::sample::select(SIGNS).prop_map(str::to_owned), 1 => ".{0,4}".boxed()];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// A line as a language model may read it: without invisible characters, and with all brackets and dashes alike. Shares
/// no code with the escaping.
fn as_read(line: &str) -> String {
    let seen = line.chars().filter(|character| !matches!(character, '\u{200b}' | '\u{feff}' | '\u{0}'));
    let folded = seen.map(|character| match character {
        '\u{ff3b}' => '[',
        '\u{ff3d}' => ']',
        '\u{2014}' => '-',
        '\u{ff12}' => '2',
        other => other,
    });
    folded.collect()
}

fn reads_as_a_head(line: &str) -> bool {
    let line = as_read(line);
    let unmarked = line.trim_start_matches([' ', '*', '>', '#', '_', ')', ']']);
    let Some((number, _)) = unmarked.strip_prefix('[').and_then(|rest| rest.split_once(']')) else { return false };
    let number: String = number.split_whitespace().collect();
    number.starts_with(|first: char| first.is_ascii_digit())
        && number.chars().all(|sign| sign.is_ascii_digit() || sign == ',')
}

fn reads_as_a_boundary(line: &str) -> bool {
    let line = as_read(line);
    let line = line.trim_start_matches([' ', '*', '>', '#', '_']);
    line.starts_with("---")
        && (line.chars().any(char::is_alphanumeric) || line.chars().all(|sign| sign == '-' || sign.is_whitespace()))
}

fn is_quoted(part: &str) -> bool {
    let inner = part.strip_prefix('“').and_then(|rest| rest.strip_suffix('”'));
    inner.is_some_and(|inner| !inner.contains(['"', '“', '”']))
}

fn lines(text: &str) -> Vec<&str> {
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_passage_never_looks_like_a_head_or_a_boundary(
        (title, heading, url, body) in (pieces(), pieces(), pieces(), pieces()), number in 1_usize..1000, random: u64,
    ) {
        let passage =
            Passage { title: Some(&title), heading: Some(&heading), url: Some(&url), page: Some(7), text: &body };
        let block = block(number, &passage);
        let shown = lines(&block);
        let head = format!("[{number}] ");
        prop_assert!(shown[0].starts_with(&head), "{block:?}");
        prop_assert!(shown[0].matches(" · ").count() <= 3, "{block:?}");
        let parts: Vec<&str> = shown[0][head.len()..].split(" · ").collect();
        let page = parts.iter().position(|part| *part == "page 7").unwrap();
        prop_assert!(parts[..page].iter().all(|part| is_quoted(part)), "{block:?}");
        prop_assert!(parts[page..].len() <= 2, "{block:?}");
        for line in &shown[1..] {
            prop_assert!(!reads_as_a_head(line), "{line:?} in {block:?}");
            prop_assert!(!reads_as_a_boundary(line), "{line:?} in {block:?}");
        }
        prop_assert!(!["<|im_end|>", "</s>", "[INST]"].iter().any(|mark| block.contains(mark)), "{block:?}");
        let boundary = Boundary::of(random);
        let whole = context(&boundary, ContextFormat::Numbered, &[block]);
        prop_assert_eq!(lines(&whole).iter().filter(|line| **line == boundary.line()).count(), 2);
    }

    #[test]
    fn escaping_only_adds_backslashes_and_is_idempotent(body in pieces()) {
        let once = text(&body).into_owned();
        prop_assert_eq!(&text(&once), &once);
        let without = |text: &str| text.replace('\\', "");
        prop_assert_eq!(without(&once), without(&seen(&body)));
    }

    #[test]
    fn text_that_looks_plain_has_nothing_to_escape(body in prop_oneof![pieces(), "[a-e -.1\\\\~\\n\\t]{0,40}"]) {
        prop_assert!(!is_plain(&body) || escaped(&body) == body);
    }
}

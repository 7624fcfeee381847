//! Documents whose cost was disproportionate to their size, and similar ones.

use super::*;

/// Fragments that are repeated to make documents that are hard to cut as Markdown, code, prose or pages.
const MARKDOWN: [&str; 34] = [
    "#\n",
    "# \n\n",
    "# a\n",
    "## a\nb\n",
    "### a\n\n#### b\n\n",
    "a\n===\n",
    "- ",
    "> ",
    "1. ",
    "- - a\n",
    "> > a\n> b\n",
    "    a\n",
    "\n",
    "\n \n",
    "[",
    "![",
    "[a](",
    "[a]: b\n",
    "[^a]",
    "[^a]: b\n\n",
    "*a ",
    "_a__",
    "**",
    "`",
    "``a",
    "```\n",
    "|a|b|\n",
    "|-|-|\n",
    "<a ",
    "<!--",
    "<?",
    "$",
    "${",
    "&amp;",
];
const CODE: [&str; 46] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "{}",
    "({[",
    "{a",
    "{a;",
    "a{b(c[",
    "!",
    "-",
    "*",
    "&",
    "~ ",
    "a=",
    "a.",
    "a+",
    "a,",
    "a<",
    "a::",
    "a->",
    "a ? b : ",
    "if (a) ",
    "else ",
    "if a {",
    "not ",
    "lambda: ",
    "/*",
    "*/",
    "//",
    "#",
    "\"",
    "'",
    "`",
    "`${",
    "\"\"\"",
    "r#\"",
    "R\"(",
    "\\\n",
    "/a",
    "a\n",
    "    a:\n",
    "\t",
    "fn a() {}\n",
    "@a ",
];
const PROSE: [&str; 24] = [
    "a ",
    "a",
    "a. ",
    "a.",
    ". ",
    ". 1",
    "?!",
    " ",
    "\n",
    "\r\n",
    "\n \n",
    "\t\n",
    "a\u{301}",
    "\u{301}",
    "\u{200D}",
    "\u{1F1E6}",
    "\u{1F469}\u{200D}",
    "\u{0E01}",
    "\u{4E00}",
    "\u{4E00}\u{3002}",
    "a:",
    "a'",
    "\u{94D}\u{915}",
    "\"",
];
const PAGES: [&str; 6] = ["\u{C}", "a\u{C}", "\u{C} ", "a b. \u{C}", "\u{C}\n", "a "];

/// All split types, each with fragments that are hard to cut.
pub(super) fn kinds() -> Vec<(SplitType, &'static [&'static str])> {
    let code = Language::ALL.into_iter().map(|language| (SplitType::Code(language), CODE.as_slice()));
    [
        (SplitType::Prose, PROSE.as_slice()),
        (SplitType::Markdown, MARKDOWN.as_slice()),
        (SplitType::Markdown, PROSE.as_slice()),
        (SplitType::Pages, PAGES.as_slice()),
    ]
    .into_iter()
    .chain(code)
    .collect()
}

/// Repeats a fragment up to a number of bytes.
pub(super) fn repeated(motif: &str, bytes: usize) -> String {
    motif.repeat(bytes.div_ceil(motif.len().max(1)))
}

/// The documents that were measured.
pub(super) fn measured(bytes: usize) -> Vec<(&'static str, SplitType, String)> {
    let half = bytes / 2;
    vec![
        (
            "a long title",
            SplitType::Markdown,
            format!("# {}\n\n{}", repeated("title ", half), repeated("## a\n\ntext of it, and more\n\n", half)),
        ),
        ("empty headings", SplitType::Markdown, repeated("#\n", bytes)),
        ("headings without text", SplitType::Markdown, repeated("## a\n", bytes)),
        ("nested lists", SplitType::Markdown, format!("{}a\n{}", repeated("- ", half), repeated("\n", half))),
        ("nested quotes", SplitType::Markdown, format!("{}a\n{}", repeated("> ", half), repeated("a\n", half))),
        (
            "a wide table",
            SplitType::Markdown,
            format!("|{}\n|{}\n{}", repeated("a|", bytes / 4), repeated("-|", bytes / 4), repeated("|\n", half)),
        ),
        ("opened brackets", SplitType::Code(Language::JavaScript), repeated("{", bytes)),
        ("opened and closed", SplitType::Code(Language::Rust), repeated("{", half) + &repeated("}", half)),
        ("blocks in blocks", SplitType::Code(Language::C), repeated("{a;", bytes)),
        (
            "blocks in blocks, not too deep",
            SplitType::Code(Language::Java),
            repeated(&("{a;".repeat(200) + &"}".repeat(200)), bytes),
        ),
        ("without brackets", SplitType::Code(Language::Go), repeated("!", bytes)),
        ("open comments", SplitType::Code(Language::C), repeated("/*", bytes)),
        ("lines that are indented more and more", SplitType::Code(Language::Python), indented(bytes)),
        ("no sentence ends", SplitType::Prose, repeated("word ", bytes)),
        ("one word", SplitType::Prose, repeated("a", bytes)),
        ("line breaks", SplitType::Prose, repeated("a\n", bytes)),
        ("white space", SplitType::Prose, repeated("a. ", half) + &repeated("\n ", half)),
        (
            "a full stop far before its next letter",
            SplitType::Prose,
            format!(".{}{}", repeated(" ", half), repeated("1", half)),
        ),
        ("short pages", SplitType::Pages, repeated("a\u{C}", bytes)),
    ]
}

fn indented(bytes: usize) -> String {
    let mut text = String::new();
    for depth in 0.. {
        text += &format!("{}if a:\n", " ".repeat(depth % 90));
        if text.len() >= bytes {
            break;
        }
    }
    text
}

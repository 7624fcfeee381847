//! Whether a start tag begins an element, or prose only mentions it ("put it into the `<head>` of the page").

use crate::answer::scan::hidden::end_tag;
use crate::answer::scan::{Look, Window};

/// What is behind a start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Text.
    Shown,
    /// No text, such as a script, and its end tag: together this many bytes.
    Hidden { end: usize },
    /// No text, and the end tag of this name is farther than a decision looks ahead.
    HiddenFar(&'static str),
}

/// The most bytes of a line of code for each sign of code in it, unless such a sign ends it.
const MAX_BYTES_PER_SIGN: usize = 24;

/// What the text behind the start tag `name` begins with. None if that is undecided until more is known.
///
/// Content is hidden only if its end is seen, or if it is long and is code: a tag that is never closed must not hide
/// the rest of the answer.
pub(super) fn of(name: &str, behind: Window<'_>) -> Option<Content> {
    let looks_right: fn(&str) -> bool = match name {
        "head" | "svg" | "template" => |content| content.starts_with('<'),
        "style" => |content| content.contains('{'),
        // Prose has brackets, too.
        "script" => |content| content.contains([';', '=', '{']),
        _ => return Some(Content::Shown),
    };
    if let Some((content, end)) = ended(name, behind.text) {
        let inner = content.trim();
        let is_prose = || begins_as_prose(content) && !inner.ends_with([';', '}', ')', '>']);
        let is_hidden = inner.is_empty() || looks_right(inner) && !is_prose();
        return Some(if is_hidden { Content::Hidden { end } } else { Content::Shown });
    }
    match name {
        _ if !behind.is_whole => None,
        "style" if behind.is_full && is_code(behind.text) => Some(Content::HiddenFar("style")),
        "script" if behind.is_full && is_code(behind.text) => Some(Content::HiddenFar("script")),
        _ => Some(Content::Shown),
    }
}

/// Whether the text behind `<pre>` is preformatted: a line break or `<code>` follows, or its end tag, or a line that
/// does not read as the rest of a sentence. None if that is undecided.
pub(super) fn is_preformatted(behind: Window<'_>) -> Option<bool> {
    const CODE: &str = "<code";
    let rest = behind.text;
    let begins =
        |text: &str| text.len() >= CODE.len() && text.as_bytes()[..CODE.len()].eq_ignore_ascii_case(CODE.as_bytes());
    if rest.starts_with(['\n', '\r']) || begins(rest) || ended("pre", rest).is_some() {
        return Some(true);
    }
    behind.is_whole.then(|| !begins_as_prose(rest) && has_second_line(rest))
}

/// Whether another line follows the first, in the same paragraph.
fn has_second_line(text: &str) -> bool {
    let after = text.split_once('\n').map(|(_, after)| after.trim_start_matches([' ', '\t', '\r']));
    after.is_some_and(|after| !after.is_empty() && !after.starts_with('\n'))
}

/// What may follow a tag in a sentence, or mark its name.
const PUNCTUATION: &str = ",.:;)?!]\"'*_\u{3001}\u{3002}\u{ff09}\u{ff0c}\u{ff1a}";

/// Whether the text behind a tag goes on with the sentence that mentions the tag: with a space and a word, with
/// punctuation and a space, as a compound ("the `<pre>`-Tag"), or in a language that code is not written in.
fn begins_as_prose(behind: &str) -> bool {
    let after = behind.trim_start_matches(|character: char| PUNCTUATION.contains(character));
    let has_punctuation = after.len() < behind.len();
    let mut characters = after.chars();
    match (characters.next(), characters.next()) {
        (Some(' '), Some(second)) => has_punctuation || !second.is_whitespace(),
        (Some('-'), Some(second)) => second.is_uppercase(),
        (Some(first), _) if first.is_whitespace() => has_punctuation,
        (Some(first), _) => first.is_alphabetic() && !first.is_ascii(),
        (None, _) => has_punctuation,
    }
}

/// Whether a long text is the code of a script or of a style sheet: most of its lines are.
fn is_code(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let of_code = lines.iter().filter(|line| is_line_of_code(line)).count();
    !begins_as_prose(text) && !text.contains("```") && 2 * of_code > lines.len()
}

fn is_line_of_code(line: &str) -> bool {
    let signs = line.matches([';', '{', '}', '=']).count();
    ["//", "/*", "*/", "* ", "<!--", "\""].iter().any(|begin| line.starts_with(begin))
        || line.ends_with([';', '{', '}'])
        || signs > 0 && line.len() <= MAX_BYTES_PER_SIGN * signs && !line.ends_with(['.', ':', '?', '!'])
}

/// The content of an element, and the position behind its end tag.
fn ended<'a>(name: &str, rest: &'a str) -> Option<(&'a str, usize)> {
    rest.match_indices("</").find_map(|(at, _)| {
        let window = Window { text: &rest[at..], is_whole: true, is_full: false };
        match end_tag(window, name) {
            Look::Yes(bytes) => Some((&rest[..at], at + bytes)),
            Look::No | Look::Open => None,
        }
    })
}

//! Retrieved text that cannot be taken for the lines around it, for the head of another passage, or for the end of the message.

mod numbers;

use std::borrow::Cow;

use numbers::numbers;

/// What stands between the parts of a passage's head.
pub(super) const SEPARATOR: &str = " · ";

/// Marks of chat templates beside those like `<|im_end|>`: servers that read them in a text end the message there.
const TEMPLATE_MARKS: [&str; 10] = [
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "<<SYS>>",
    "<</SYS>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<s>",
    "</s>",
];

/// The longest name between `<|` and `|>`, in bytes.
const MAX_MARK_BYTES: usize = 64;

/// Dashes that make a line look like a boundary.
const RULE_DASHES: usize = 3;

/// A passage's text with a backslash in everything that looks like more than text. Escaping again changes nothing.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let mut backslashes = numbers(text);
    let mut start = 0;
    for line in text.split_inclusive(is_line_break) {
        rule(line).into_iter().chain(marks(line)).for_each(|at| backslashes.push(start + at));
        start += line.len();
    }
    if backslashes.is_empty() {
        return Cow::Borrowed(text);
    }
    backslashes.sort_unstable();
    let mut escaped = String::with_capacity(text.len() + backslashes.len());
    let mut from = 0;
    for at in backslashes {
        escaped.extend([&text[from..at], "\\"]);
        from = at;
    }
    escaped.push_str(&text[from..]);
    Cow::Owned(escaped)
}

/// A part of a passage's head: on one line, and without the sign that stands between parts.
pub(super) fn label(part: &str) -> String {
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let words: Vec<&str> = part.split(is_gap).filter(|word| !word.is_empty()).collect();
    text(&words.join(" ").replace('·', "-")).into_owned()
}

/// What a document calls itself or a part of it, as a part of a head: in quotes, which do not end before it does.
pub(super) fn quotation(part: &str) -> String {
    let label = label(part);
    if label.is_empty() { label } else { format!("“{}”", label.replace(is_double_quote, "'")) }
}

/// Where the dashes of a line begin that looks like a boundary: they come before its first letter or digit, or there is nothing else at all.
/// A table's dashes have bars between them, and no letter or digit behind.
fn rule(line: &str) -> Option<usize> {
    let first_letter = line.find(char::is_alphanumeric);
    let lead = &line[..first_letter.unwrap_or(line.len())];
    let is_set_off = |character: char| is_dash(character) || character.is_whitespace() || "*_>#".contains(character);
    let has_only_dashes = || visible(lead).all(|(_, character)| is_set_off(character));
    let (began, before) = dashes(lead)?;
    (before != Some('\\') && (first_letter.is_some() || has_only_dashes())).then_some(began)
}

/// Where the first three dashes in a row begin, and what stands before them.
fn dashes(lead: &str) -> Option<(usize, Option<char>)> {
    let (mut count, mut began, mut before) = (0, 0, None);
    for (at, character) in visible(lead) {
        if !is_dash(character) {
            (count, before) = (0, Some(character));
            continue;
        }
        if count == 0 {
            began = at;
        }
        count += 1;
        if count == RULE_DASHES {
            return Some((began, before));
        }
    }
    None
}

/// Where the marks of chat templates must be broken: behind their first character.
fn marks(line: &str) -> Vec<usize> {
    let begins = line.match_indices(['<', '[']).map(|(at, _)| at);
    begins.filter(|&at| is_mark(&line[at..])).map(|at| at + 1).collect()
}

fn is_mark(text: &str) -> bool {
    TEMPLATE_MARKS.iter().any(|mark| text.starts_with(mark)) || is_barred_mark(text)
}

/// Such as `<|im_end|>`, and DeepSeek's with wide bars.
fn is_barred_mark(text: &str) -> bool {
    ["|", "\u{ff5c}"].into_iter().any(|bar| {
        let name = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(bar)).and_then(|rest| rest.split_once(bar));
        name.is_some_and(|(name, behind)| {
            behind.starts_with('>')
                && (1..=MAX_MARK_BYTES).contains(&name.len())
                && !name.contains(|character: char| character.is_whitespace() || "<>".contains(character))
        })
    })
}

/// The characters that a reader sees, and where they are.
fn visible(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|(_, character)| !is_invisible(*character))
}

fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    ) || character.is_control() && !character.is_whitespace()
}

fn is_double_quote(character: char) -> bool {
    matches!(character, '"' | '“' | '”' | '„' | '‟' | '\u{301d}'..='\u{301f}' | '\u{ff02}')
}

fn is_dash(character: char) -> bool {
    matches!(
        character,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2500}' | '\u{2501}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    )
}

#[cfg(test)]
mod tests;

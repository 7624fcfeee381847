//! Escapes retrieved text. Otherwise a language model may mistake it for a boundary, the head of another passage, or
//! the end of the message.

mod numbers;

use std::borrow::Cow;

use numbers::numbers;

/// The separator between the parts of a passage's head.
pub(super) const SEPARATOR: &str = " · ";

/// Marks of chat templates that do not look like `<|im_end|>`. Some servers end a message at them.
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

/// The minimum number of dashes in a row that look like a boundary.
const RULE_DASHES: usize = 3;

/// The text with a backslash in every boundary, passage number and mark of a chat template. Idempotent.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { escaped(text) }
}

/// Whether a text has nothing to escape, as far as its bytes tell. True for most prose, and much faster than to escape.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~') && !matches!(byte, b'[' | b'<');
    text.bytes().all(is_plain) && memchr::memmem::find(text.as_bytes(), b"---").is_none()
}

fn escaped(text: &str) -> Cow<'_, str> {
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

/// A part of a passage's head: escaped, on one line and without the separator.
pub(super) fn label(part: &str) -> String {
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let words: Vec<&str> = part.split(is_gap).filter(|word| !word.is_empty()).collect();
    text(&words.join(" ").replace('·', "-")).into_owned()
}

/// A title or heading as a part of a passage's head: in double quotes. Double quotes in it are replaced.
pub(super) fn quotation(part: &str) -> String {
    let label = label(part);
    if label.is_empty() { label } else { format!("“{}”", label.replace(is_double_quote, "'")) }
}

/// The position of the dashes if the line looks like a boundary: dashes precede its first letter or digit, or it has
/// only dashes and markup. A delimiter row of a table is no boundary: it has bars, and no letters or digits.
fn rule(line: &str) -> Option<usize> {
    let first_letter = line.find(char::is_alphanumeric);
    let lead = &line[..first_letter.unwrap_or(line.len())];
    let is_set_off = |character: char| is_dash(character) || character.is_whitespace() || "*_>#".contains(character);
    let has_only_dashes = || visible(lead).all(|(_, character)| is_set_off(character));
    let (began, before) = dashes(lead)?;
    (before != Some('\\') && (first_letter.is_some() || has_only_dashes())).then_some(began)
}

/// The position of the first three dashes in a row, and the visible character before them.
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

/// The positions of backslashes that break marks of chat templates: after the first character of each.
fn marks(line: &str) -> Vec<usize> {
    let begins = line.match_indices(['<', '[']).map(|(at, _)| at);
    begins.filter(|&at| is_mark(&line[at..])).map(|at| at + 1).collect()
}

fn is_mark(text: &str) -> bool {
    TEMPLATE_MARKS.iter().any(|mark| text.starts_with(mark)) || is_barred_mark(text)
}

/// Whether the text starts with a mark such as `<|im_end|>`. DeepSeek's marks have fullwidth bars.
fn is_barred_mark(text: &str) -> bool {
    ["|", "\u{ff5c}"].into_iter().any(|bar| {
        let name = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(bar)).and_then(|rest| rest.split_once(bar));
        name.is_some_and(|(name, after)| {
            after.starts_with('>')
                && (1..=MAX_MARK_BYTES).contains(&name.len())
                && !name.contains(|character: char| character.is_whitespace() || "<>".contains(character))
        })
    })
}

/// The visible characters and their positions.
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

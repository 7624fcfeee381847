//! Escapes retrieved text. Otherwise a language model may mistake it for a boundary, the head of another passage, or
//! the end of the message, or read what a person does not see.

mod marks;
mod numbers;
mod seen;

use std::borrow::Cow;

use icu_properties::props::GeneralCategory;
use icu_properties::{CodePointMapData, CodePointMapDataBorrowed};
use marks::marks;
pub(crate) use numbers::begins_with_field;
use numbers::numbers;
pub(crate) use seen::seen;

const CATEGORIES: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::<GeneralCategory>::new();

/// The separator between the parts of a passage's head.
pub(super) const SEPARATOR: &str = " · ";

/// The minimum number of dashes or equals signs in a row that look like a boundary.
const RULE_SIGNS: usize = 3;

/// The text as a person sees it ([`seen`]), with a backslash in every boundary, passage number and mark of a chat
/// template. Idempotent.
///
/// What is invisible goes first, because it could stand inside a mark.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    match seen(text) {
        Cow::Borrowed(text) => escaped(text),
        Cow::Owned(text) => Cow::Owned(escaped(&text).into_owned()),
    }
}

/// Whether a text has nothing to escape, as far as its bytes tell. True for most prose, and much faster than to escape.
fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~') && !matches!(byte, b'[' | b'<');
    let has = |signs: &[u8]| memchr::memmem::find(text.as_bytes(), signs).is_some();
    text.bytes().all(is_plain) && !has(b"---") && !has(b"===")
}

fn escaped(text: &str) -> Cow<'_, str> {
    let mut backslashes = numbers(text);
    let mut start = 0;
    for line in text.split_inclusive(is_line_break) {
        rules(line).chain(marks(line)).for_each(|at| backslashes.push(start + at));
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
    let part = seen(part);
    let words: Vec<&str> = part.split_whitespace().collect();
    text(&words.join(" ").replace('·', "-")).into_owned()
}

/// A title or heading as a part of a passage's head: in double quotes. Double quotes in it are replaced.
pub(super) fn quotation(part: &str) -> String {
    let label = label(part);
    if label.is_empty() { label } else { format!("“{}”", label.replace(is_double_quote, "'")) }
}

/// The positions of dashes and equals signs if the line looks like a boundary: dashes precede its first letter or digit,
/// or it has only dashes and markup; equals signs precede a digit. A delimiter row of a table is no boundary: it has
/// bars, and no letters or digits.
fn rules(line: &str) -> impl Iterator<Item = usize> {
    let first_letter = line.find(char::is_alphanumeric);
    let lead = &line[..first_letter.unwrap_or(line.len())];
    let is_set_off = |character: char| is_dash(character) || character.is_whitespace() || "*_>#".contains(character);
    let has_only_dashes = || without_marks(lead).all(|(_, character)| is_set_off(character));
    let has_digit = first_letter.is_some_and(|at| line[at..].starts_with(char::is_numeric));
    let dashes = row(lead, is_dash).filter(|_| first_letter.is_some() || has_only_dashes());
    let equals_signs = row(lead, is_equals_sign).filter(|_| has_digit);
    dashes.into_iter().chain(equals_signs).filter(|(_, before)| *before != Some('\\')).map(|(began, _)| began)
}

/// The position of the first three such signs in a row, and the character before them.
fn row(lead: &str, is_sign: impl Fn(char) -> bool) -> Option<(usize, Option<char>)> {
    let (mut count, mut began, mut before) = (0, 0, None);
    for (at, character) in without_marks(lead) {
        if !is_sign(character) {
            (count, before) = (0, Some(character));
            continue;
        }
        if count == 0 {
            began = at;
        }
        count += 1;
        if count == RULE_SIGNS {
            return Some((began, before));
        }
    }
    None
}

/// The characters and their positions, without those that are drawn onto the one before them, such as accents.
fn without_marks(text: &str) -> impl Iterator<Item = (usize, char)> {
    let is_drawn_onto = |character: char| {
        !character.is_ascii()
            && matches!(CATEGORIES.get(character), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
    };
    text.char_indices().filter(move |(_, character)| !is_drawn_onto(*character))
}

/// The other line breaks are no longer there: see [`seen`].
fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r')
}

fn is_double_quote(character: char) -> bool {
    matches!(character, '"' | '“' | '”' | '„' | '‟' | '\u{301d}'..='\u{301f}' | '\u{ff02}')
}

pub(crate) fn is_dash(character: char) -> bool {
    matches!(
        character,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2500}' | '\u{2501}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    )
}

fn is_equals_sign(character: char) -> bool {
    matches!(character, '=' | '\u{2550}' | '\u{ff1d}')
}

#[cfg(test)]
mod tests;

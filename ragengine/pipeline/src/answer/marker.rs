//! Markers such as `[1]`, `[1, 2]` and `[1-3]`. Some models write full-width brackets.

mod link;
mod list;

use list::List;

use super::scan::{Look, Name, Place, Reading, Syntax, Window};
use crate::prompt::escape::begins_with_field;

/// The syntax of markers. Indices in code such as `row_values[1]` and escaped brackets are no markers.
#[derive(Debug)]
pub(super) struct Markers;

/// A marker as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    numbers: Vec<usize>,
    written: String,
    /// The length of the brackets, in bytes. The address of a link may follow.
    bracket_bytes: usize,
    /// It is a marker whatever its numbers are.
    is_certain: bool,
}

impl Marker {
    /// The numbers of sources, each 1 to `count` if the marker is not certain. None if this is text: a number directly
    /// after a word, a range or a link names sources only if all its numbers are sources.
    pub(super) fn numbers(&self, count: usize) -> Option<&[usize]> {
        let is_of_sources = || self.numbers.iter().all(|number| (1..=count).contains(number));
        (self.is_certain || is_of_sources()).then_some(&*self.numbers)
    }

    /// The whole text.
    pub(super) fn written(&self) -> &str {
        &self.written
    }

    /// The address of the link, with what precedes it. It may be empty.
    pub(super) fn address(&self) -> &str {
        &self.written[self.bracket_bytes..]
    }
}

impl Syntax for Markers {
    type Item = Marker;

    fn begins(character: char) -> bool {
        closing(character).is_some()
    }

    fn read(window: Window<'_>, place: Place) -> Reading<Marker> {
        let opening = window.text.chars().next().unwrap_or_default();
        let text = Reading::Text(opening.len_utf8());
        let is_square = opening == '[';
        let Some(closing) = closing(opening) else { return text };
        let (bracket_bytes, list) = match list::read(window, closing) {
            Reading::Item(bytes, list) => (bytes, list),
            Reading::Open => return Reading::Open,
            Reading::Text(_) => return text,
        };
        let after = window.from(bracket_bytes);
        let index = if is_square { index(&list, place.name, after) } else { Look::No };
        let link = match after.text.chars().next() {
            None if is_square => after.ended(),
            Some('(') if is_square => link::target(after),
            Some(':') if is_square && place.is_line_start => link::definition(after),
            _ => Look::No,
        };
        let address_bytes = match (index, link) {
            (Look::Yes(_), _) => return text,
            (Look::Open, _) | (_, Look::Open) => return Reading::Open,
            (Look::No, Look::Yes(bytes)) => bytes,
            (Look::No, Look::No) => 0,
        };
        let bytes = bracket_bytes + address_bytes;
        let is_certain = list.has_only_commas && address_bytes == 0 && !(is_square && follows_word(place));
        let written = window.text[..bytes].to_owned();
        Reading::Item(bytes, Marker { numbers: list.numbers, written, bracket_bytes, is_certain })
    }
}

/// Whether a number in square brackets is an index in code, given the name before it and the text after it. Passages
/// are escaped by the same rule: prose also cites sources directly after a word, so an index needs a sign of code.
fn index(list: &List, name: Name, after: Window<'_>) -> Look {
    const ASSIGNMENT: &str = " = ";
    if !list.is_plain || !name.has_letter() {
        return Look::No;
    }
    let is_zero = list.numbers.iter().all(|number| *number == 0);
    if is_zero || name.has_inner_underscore() || after.text.starts_with(ASSIGNMENT) || begins_with_field(after.text) {
        return Look::Yes(0);
    }
    let may_become_code = ASSIGNMENT.starts_with(after.text) || after.text == ".";
    if may_become_code { after.ended() } else { Look::No }
}

/// Whether a square bracket at this place follows a word, or what may be code or a link. Scripts without spaces have
/// markers directly after a letter.
fn follows_word(place: Place) -> bool {
    let is_word = |character: char| character.is_alphanumeric() && !is_unspaced(character);
    let previous = place.previous.filter(|_| !place.is_after_item);
    previous.is_some_and(|character| is_word(character) || matches!(character, '_' | ')' | ']'))
}

/// Whether this letter belongs to a script that has no spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(
        character,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}'
    )
}

fn closing(opening: char) -> Option<char> {
    match opening {
        '[' => Some(']'),
        '\u{3010}' => Some('\u{3011}'),
        '\u{ff3b}' => Some('\u{ff3d}'),
        _ => None,
    }
}

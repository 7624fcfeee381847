//! Markers such as `[1]` and `[1, 2]`. Some models write full-width brackets.

mod link;

use super::scan::{Look, Place, Reading, Syntax, Window};

/// The syntax of markers. Links, their definitions, indices such as `values[1]` and escaped brackets are no markers.
#[derive(Debug)]
pub(super) struct Markers;

impl Syntax for Markers {
    /// The numbers of the sources, as written.
    type Item = Vec<usize>;

    fn begins(character: char) -> bool {
        closing(character).is_some()
    }

    fn read(window: Window<'_>, place: Place) -> Reading<Vec<usize>> {
        let opening = window.text.chars().next().unwrap_or_default();
        let text = Reading::Text(opening.len_utf8());
        let is_square = opening == '[';
        let Some(closing) = closing(opening).filter(|_| !(is_square && is_index(place))) else { return text };
        let (bytes, numbers) = match numbers(window, closing) {
            Reading::Item(bytes, numbers) => (bytes, numbers),
            Reading::Open => return Reading::Open,
            Reading::Text(_) => return text,
        };
        let after = window.from(bytes);
        let link = match after.text.chars().next() {
            None if is_square => after.ended(),
            Some('(') if is_square => link::target(after),
            Some(':') if is_square && place.is_line_start => link::definition(after),
            _ => Look::No,
        };
        match link {
            Look::Open => Reading::Open,
            Look::Yes(link_bytes) => Reading::Text(bytes + link_bytes),
            Look::No => Reading::Item(bytes, numbers),
        }
    }
}

/// Whether a bracket at this place is an index in code, or belongs to a link. Scripts without spaces have markers
/// directly after a letter.
fn is_index(place: Place) -> bool {
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

/// Reads one or more numbers in brackets, with commas between them.
fn numbers(window: Window<'_>, closing: char) -> Reading<Vec<usize>> {
    let mut numbers = Vec::new();
    let mut number: Option<usize> = None;
    let (mut is_number_over, mut has_break) = (false, false);
    for (at, character) in window.text.char_indices().skip(1) {
        let has_number = number.is_some();
        match character {
            _ if digit(character).is_some() && !is_number_over => {
                let digit = digit(character).unwrap_or_default();
                // The largest number stays the largest.
                number = Some(number.unwrap_or_default().saturating_mul(10).saturating_add(digit));
            }
            ',' | '\u{ff0c}' | '\u{3001}' if has_number => {
                numbers.extend(number.take());
                is_number_over = false;
            }
            _ if character == closing && has_number => {
                numbers.extend(number);
                return Reading::Item(at + character.len_utf8(), numbers);
            }
            // An empty line ends a paragraph.
            '\n' if has_break => return Reading::Text(1),
            _ if character.is_whitespace() => {
                is_number_over = has_number;
                has_break |= character == '\n';
            }
            _ => return Reading::Text(1),
        }
    }
    if window.is_whole { Reading::Text(1) } else { Reading::Open }
}

fn digit(character: char) -> Option<usize> {
    let ascii = match character {
        '\u{ff10}'..='\u{ff19}' => u32::from(character) - 0xff10,
        _ => character.to_digit(10)?,
    };
    usize::try_from(ascii).ok()
}

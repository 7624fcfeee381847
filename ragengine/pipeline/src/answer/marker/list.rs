//! The numbers in the brackets of a marker.

use super::super::scan::{Reading, Window};
use crate::prompt::escape::is_dash;

/// The longest range. A longer one cites nothing in particular, and would make a long answer of a short one.
const MAX_RANGE: usize = 32;

/// One or more numbers.
#[derive(Debug)]
pub(super) struct List {
    pub(super) numbers: Vec<usize>,
    /// Only commas are between the numbers.
    pub(super) has_only_commas: bool,
    /// Only ASCII digits are between the brackets.
    pub(super) is_plain: bool,
}

impl List {
    /// Adds a number, or the range that ends with it. False if that is no range.
    fn add(&mut self, first: Option<usize>, last: usize) -> bool {
        let first = first.unwrap_or(last);
        let is_range = first <= last && last - first < MAX_RANGE;
        if is_range {
            self.numbers.extend(first..=last);
        }
        is_range
    }
}

/// Reads numbers in brackets: `[1]`, `[1, 2]`, `[1; 2]`, `[1-3]`.
pub(super) fn read(window: Window<'_>, closing: char) -> Reading<List> {
    let mut list = List { numbers: Vec::new(), has_only_commas: true, is_plain: true };
    let (mut first, mut number) = (None, None::<usize>);
    let (mut is_number_over, mut has_break) = (false, false);
    for (at, character) in window.text.char_indices().skip(1) {
        if character == closing
            && let Some(last) = number
        {
            let is_list = list.add(first, last);
            return if is_list { Reading::Item(at + character.len_utf8(), list) } else { Reading::Text(1) };
        }
        list.is_plain &= character.is_ascii_digit();
        if let Some(digit) = digit(character).filter(|_| !is_number_over) {
            // The largest number stays the largest.
            number = Some(number.unwrap_or_default().saturating_mul(10).saturating_add(digit));
        } else if character.is_whitespace() {
            // An empty line ends a paragraph.
            if character == '\n' && has_break {
                return Reading::Text(1);
            }
            is_number_over = number.is_some();
            has_break |= character == '\n';
        } else if let Some(last) = number.take() {
            is_number_over = false;
            let is_comma = is_comma(character);
            list.has_only_commas &= is_comma;
            if is_dash(character) && first.is_none() {
                first = Some(last);
            } else if !(is_comma || is_other_separator(character)) || !list.add(first.take(), last) {
                return Reading::Text(1);
            }
        } else {
            return Reading::Text(1);
        }
    }
    if window.is_whole { Reading::Text(1) } else { Reading::Open }
}

fn is_comma(character: char) -> bool {
    matches!(character, ',' | '\u{ff0c}' | '\u{3001}')
}

fn is_other_separator(character: char) -> bool {
    matches!(character, ';' | '&' | '\u{ff1b}')
}

fn digit(character: char) -> Option<usize> {
    let ascii = match character {
        '\u{ff10}'..='\u{ff19}' => u32::from(character) - 0xff10,
        _ => character.to_digit(10)?,
    };
    usize::try_from(ascii).ok()
}

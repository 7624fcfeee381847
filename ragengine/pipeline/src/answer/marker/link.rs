//! What makes a link of a number in brackets: an address in parentheses after it, or after a colon.

use super::super::scan::{Look, Window};

/// The target of a link, `(address)` or `(address "title")`. A remark in parentheses is no target. The length of a target is
/// that of the address, with what precedes it.
pub(super) fn target(window: Window<'_>) -> Look {
    let Some(inner) = window.text.strip_prefix('(') else { return Look::No };
    let address = inner.trim_start_matches(is_blank);
    if address.starts_with('<') {
        return bracketed(window, address, &[')']);
    }
    let mut depth = 0_usize;
    for (at, character) in address.char_indices() {
        let end = window.text.len() - address.len() + at;
        match character {
            '(' => depth += 1,
            ')' if depth == 0 => return Look::Yes(end),
            ')' => depth -= 1,
            _ if character.is_whitespace() => return after_address(window, end, &[')']),
            _ => {}
        }
    }
    // An address that is too long to wait for its end is an address nevertheless.
    if window.is_whole && window.text.len() > LONG_ADDRESS { Look::Yes(window.text.len()) } else { window.ended() }
}

/// The length of text without white space that is an address even without its end, in bytes.
const LONG_ADDRESS: usize = 256;

/// The definition of a link at the beginning of a line, `: address` or `: address "title"`. Words after a colon are
/// none. The length of a definition is that of the address, with what precedes it.
pub(super) fn definition(window: Window<'_>) -> Look {
    let Some(inner) = window.text.strip_prefix(':') else { return Look::No };
    let address = inner.trim_start_matches(is_blank);
    if address.starts_with('<') {
        return bracketed(window, address, &['\n', '\r']);
    }
    match address.find(char::is_whitespace).unwrap_or(address.len()) {
        0 if address.is_empty() => window.ended(),
        0 => Look::No,
        length => after_address(window, window.text.len() - address.len() + length, &['\n', '\r']),
    }
}

/// An address in angle brackets, `<address>`, which may have spaces in it. It ends the text of the window.
fn bracketed(window: Window<'_>, address: &str, ends: &[char]) -> Look {
    match address.char_indices().skip(1).find(|(_, character)| matches!(character, '<' | '>' | '\n')) {
        Some((at, '>')) => after_address(window, window.text.len() - address.len() + at + 1, ends),
        Some(_) => Look::No,
        None => window.ended(),
    }
}

/// Whether the text after an address ends the link, or is its title.
fn after_address(window: Window<'_>, end: usize, ends: &[char]) -> Look {
    match window.text[end..].trim_start_matches(is_blank).chars().next() {
        None if !window.is_whole => Look::Open,
        None => {
            if ends.contains(&'\n') {
                Look::Yes(end)
            } else {
                Look::No
            }
        }
        Some(next) if ends.contains(&next) || matches!(next, '"' | '\'' | '(') => Look::Yes(end),
        Some(_) => Look::No,
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

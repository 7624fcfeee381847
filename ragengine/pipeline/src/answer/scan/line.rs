//! What a line begins: a block of code, another block such as a list item, or nothing.

use super::{Look, Window};
use crate::extract::is_fence;

/// The maximum length of a list item's number, as in CommonMark.
const MAX_DIGITS: usize = 9;

/// The line that began a block of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Whether a line ends the block. Its length is without the line break.
    pub(super) fn closes(self, window: Window<'_>) -> Look {
        let content = window.text.trim_start_matches([' ', '\t', '>']);
        let after = content.trim_start_matches(self.mark);
        let length = content.len() - after.len();
        let trailing = after.trim_start_matches([' ', '\t', '\r']);
        match trailing.chars().next() {
            None if !window.is_whole => Look::Open,
            None | Some('\n') if length >= self.length => Look::Yes(window.text.len() - trailing.len()),
            _ => Look::No,
        }
    }
}

/// What a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A block of code. The length of the line is in bytes, without the line break.
    Fence(Fence, usize),
    /// A block that ends a paragraph before it: a list item, a heading, a row of a table, an empty line.
    Block,
    /// It may belong to the paragraph before it.
    Continuing,
}

/// What a line begins, if its beginning tells.
pub(super) fn kind(window: Window<'_>) -> Option<Kind> {
    let mut content = window.text.trim_start_matches([' ', '\t', '>']);
    let mut kind = Kind::Continuing;
    loop {
        match list_mark(Window { text: content, ..window }) {
            Look::Open => return None,
            Look::No => break,
            Look::Yes(bytes) => {
                content = content[bytes..].trim_start_matches([' ', '\t', '>']);
                kind = Kind::Block;
            }
        }
    }
    let may_become_fence = ["```", "~~~"].iter().any(|fence| fence.starts_with(content));
    if may_become_fence && !window.is_whole {
        return None;
    }
    if is_fence(content) {
        return fence(content, window).map(|fence| fence.unwrap_or(kind));
    }
    let begins_block = content.is_empty() || content.starts_with(['#', '|', '\n', '\r']);
    Some(if begins_block { Kind::Block } else { kind })
}

/// Whether a text begins with the mark of a list item, such as `- ` or `2. `.
fn list_mark(window: Window<'_>) -> Look {
    let digits = window.text.bytes().take(MAX_DIGITS).take_while(u8::is_ascii_digit).count();
    let after = &window.text[digits..];
    let mut characters = after.chars();
    let is_mark = match characters.next() {
        None => return window.ended(),
        Some(mark) if digits == 0 => matches!(mark, '-' | '*' | '+'),
        Some(mark) => matches!(mark, '.' | ')'),
    };
    match characters.next() {
        _ if !is_mark => Look::No,
        None => window.ended(),
        Some(' ' | '\t') => Look::Yes(digits + 2),
        Some(_) => Look::No,
    }
}

/// Reads the first line of a block of code, if this is one: after backticks, it has no other backticks.
fn fence(content: &str, window: Window<'_>) -> Option<Option<Kind>> {
    let mark = content.chars().next().unwrap_or_default();
    let (line, is_complete) = match content.split_once('\n') {
        Some((line, _)) => (line, true),
        None => (content, window.is_whole),
    };
    let info = line.trim_start_matches(mark);
    if mark == '`' && info.contains('`') {
        return Some(None);
    }
    let fence = Fence { mark, length: line.len() - info.len() };
    let bytes = window.text.len() - content.len() + line.len();
    is_complete.then_some(Some(Kind::Fence(fence, bytes)))
}

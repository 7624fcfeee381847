//! Numbers in brackets, such as `[2]`: so the heads of passages begin, and so an answer names its sources.

use super::{is_dash, visible};

/// Where numbers in brackets begin that could be taken for those of sources: all but indices such as only code has.
pub(super) fn numbers(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut backslashes = 0;
    // Where the latest index ends, and the name that it stands behind.
    let mut index: Option<(usize, &str)> = None;
    for (at, character) in visible(text) {
        // Of two backslashes, the first escapes the second.
        let is_escaped = backslashes % 2 == 1;
        backslashes = if character == '\\' { backslashes + 1 } else { 0 };
        let Some(numbers) = Bracketed::at(&text[at..]).filter(|_| !is_escaped) else { continue };
        let end = at + numbers.bytes;
        let name = index.filter(|(end, _)| *end == at).map_or_else(|| name_at_end(&text[..at]), |(_, name)| name);
        if numbers.is_index_of(name, &text[end..]) {
            index = Some((end, name));
        } else {
            found.push(at);
        }
    }
    found
}

/// Numbers in brackets.
struct Bracketed {
    /// There is one, and nothing but its digits.
    is_plain: bool,
    /// And these are 0.
    is_zero: bool,
    /// What they and the brackets take.
    bytes: usize,
}

impl Bracketed {
    /// Those that a text begins with. A line may end within: they are read across it.
    fn at(text: &str) -> Option<Self> {
        let mut characters = visible(text);
        characters.next().filter(|(_, first)| is_opening(*first))?;
        let (mut has_digits, mut is_plain, mut is_zero) = (false, true, true);
        for (at, character) in characters {
            if has_digits && is_closing(character) {
                return Some(Self { is_plain, is_zero, bytes: at + character.len_utf8() });
            }
            let may_stand_between = character.is_whitespace() || has_digits && is_between(character);
            if !character.is_numeric() && !may_stand_between {
                return None;
            }
            has_digits |= character.is_numeric();
            is_plain &= character.is_ascii_digit();
            is_zero &= character == '0';
        }
        None
    }

    /// Whether this is an index of a name in code. Prose puts the numbers of its sources right behind a word, too (`in full[2]`), or behind its
    /// markup (`_in full_[2]`), and a full stop, a semicolon or a link behind them. What it does not have is a name with `_` inside, an
    /// assignment, or a field; and no source is number 0.
    fn is_index_of(&self, name: &str, behind: &str) -> bool {
        let is_name = name.contains(|character: char| character.is_ascii_alphabetic());
        let is_in_code = || has_inner_underscore(name) || behind.starts_with(" = ") || begins_with_field(behind);
        self.is_plain && is_name && (self.is_zero || is_in_code())
    }
}

/// The letters, digits and `_` that a text ends with.
fn name_at_end(text: &str) -> &str {
    let is_outside = |character: char| !character.is_ascii_alphanumeric() && character != '_';
    text.rsplit(is_outside).next().unwrap_or_default()
}

fn has_inner_underscore(name: &str) -> bool {
    name.trim_matches('_').contains('_')
}

/// Such as `.name`.
fn begins_with_field(text: &str) -> bool {
    let begins_name = |character: char| character.is_ascii_lowercase() || character == '_';
    text.strip_prefix('.').is_some_and(|rest| rest.starts_with(begins_name))
}

/// What stands between the numbers of several sources.
fn is_between(character: char) -> bool {
    is_dash(character) || matches!(character, ',' | ';' | '&' | '\u{3001}' | '\u{ff0c}' | '\u{ff1b}')
}

fn is_opening(character: char) -> bool {
    matches!(
        character,
        '[' | '\u{2045}' | '\u{2772}' | '\u{27e6}' | '\u{3010}' | '\u{3014}' | '\u{3016}' | '\u{301a}' | '\u{ff3b}'
    )
}

fn is_closing(character: char) -> bool {
    matches!(
        character,
        ']' | '\u{2046}' | '\u{2773}' | '\u{27e7}' | '\u{3011}' | '\u{3015}' | '\u{3017}' | '\u{301b}' | '\u{ff3d}'
    )
}

//! Numbers in brackets, such as `[2]`. The heads of passages begin with them, and an answer cites its sources by them.

use super::{is_dash, without_marks};

/// The positions of bracketed numbers that look like the number of a passage. Indices in code do not.
pub(super) fn numbers(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut backslashes = 0;
    // The end of the latest index, and the name before it: `name[0][1]` has two.
    let mut index: Option<(usize, &str)> = None;
    for (at, character) in without_marks(text) {
        // An even number of backslashes escape each other, so the bracket after them is not escaped.
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

/// One or more numbers in brackets.
struct Bracketed {
    /// Only ASCII digits are between the brackets.
    is_plain: bool,
    /// All digits are 0.
    is_zero: bool,
    /// The length with the brackets.
    bytes: usize,
}

impl Bracketed {
    /// The bracketed numbers at the beginning of a text. They may contain line breaks.
    fn at(text: &str) -> Option<Self> {
        let mut characters = without_marks(text);
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

    /// Whether this is an index in code, given the name before it and the text after it.
    ///
    /// Prose also cites sources directly after a word (`in full[2]`) or its markup (`_in full_[2]`), with punctuation
    /// or a link after the number. So an index needs a sign of code: `_` inside the name, an assignment or a field
    /// after it, or the number 0, which no passage has.
    fn is_index_of(&self, name: &str, after: &str) -> bool {
        let is_name = name.contains(|character: char| character.is_ascii_alphabetic());
        let is_in_code = || has_inner_underscore(name) || after.starts_with(" = ") || begins_with_field(after);
        self.is_plain && is_name && (self.is_zero || is_in_code())
    }
}

/// The name of ASCII letters, digits and `_` at the end of a text. It may be empty.
fn name_at_end(text: &str) -> &str {
    let is_outside = |character: char| !character.is_ascii_alphanumeric() && character != '_';
    text.rsplit(is_outside).next().unwrap_or_default()
}

fn has_inner_underscore(name: &str) -> bool {
    name.trim_matches('_').contains('_')
}

/// Whether the text begins with a field such as `.name`.
pub(crate) fn begins_with_field(text: &str) -> bool {
    let begins_name = |character: char| character.is_ascii_lowercase() || character == '_';
    text.strip_prefix('.').is_some_and(|rest| rest.starts_with(begins_name))
}

/// Whether this character separates the numbers of several sources.
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

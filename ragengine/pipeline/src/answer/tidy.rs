//! Writes the text around markers, and closes the gaps of markers that vanish.

/// The maximum length of white space that is held back, in bytes. It may belong to a gap.
const MAX_HELD_BYTES: usize = 64;

/// A text that is written in pieces.
#[derive(Debug, Default)]
pub(super) struct Tidy {
    text: String,
    /// The end of the text, which may belong to a gap: blanks, and perhaps an opening parenthesis between them.
    held: String,
    gap: Option<Gap>,
    /// The last character of the text that is not held back.
    last: Option<char>,
}

/// Where markers have vanished and no text has followed yet.
#[derive(Debug)]
struct Gap {
    /// What precedes the gap: the indentation of the line, or a space if white space was on one side.
    space: String,
    is_line_start: bool,
    /// An opening parenthesis precedes it.
    is_parenthesised: bool,
}

impl Tidy {
    /// Writes text. Its pieces may be of any size.
    pub(super) fn text(&mut self, text: &str) {
        let text = match &mut self.gap {
            None => text,
            Some(gap) => match gap.skip(text) {
                "" => return,
                rest => {
                    self.close_gap(rest.chars().next());
                    rest
                }
            },
        };
        if self.held.is_empty() {
            let held = self.held_from(text);
            self.write(&text[..held]);
            self.held.push_str(&text[held..]);
        } else {
            let mut whole = std::mem::take(&mut self.held);
            whole.push_str(text);
            let held = self.held_from(&whole);
            self.write(&whole[..held]);
            self.held.push_str(&whole[held..]);
        }
    }

    /// Writes a marker.
    pub(super) fn marker(&mut self, marker: &str) {
        self.close_gap(marker.chars().next());
        let held = std::mem::take(&mut self.held);
        self.write(&held);
        self.write(marker);
    }

    /// Leaves out a marker.
    pub(super) fn vanish(&mut self) {
        if self.gap.is_none() {
            let held = std::mem::take(&mut self.held);
            let (before, is_parenthesised) = held.split_once('(').map_or((&*held, false), |(before, _)| (before, true));
            let is_line_start = self.is_line_start();
            let space = if is_line_start { before } else { before.get(..1).map_or("", |_| " ") }.to_owned();
            self.gap = Some(Gap { space, is_line_start, is_parenthesised });
        }
    }

    /// The end of the text.
    pub(super) fn finish(&mut self) {
        self.close_gap(None);
        let held = std::mem::take(&mut self.held);
        self.write(&held);
    }

    /// The text so far that has not been taken, without what is held back.
    pub(super) fn written(&self) -> &str {
        &self.text
    }

    /// Takes the text so far, without what is held back.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.last = text.chars().next_back().or(self.last);
    }

    fn is_line_start(&self) -> bool {
        self.last.is_none_or(|last| last == '\n')
    }

    /// Holds back what is left of a gap before this character.
    fn close_gap(&mut self, next: Option<char>) {
        let Some(gap) = self.gap.take() else { return };
        let is_spaced = gap.is_parenthesised || next.is_some_and(|next| next != '\n' && next != '\r');
        if is_spaced && (gap.is_line_start || gap.is_parenthesised || !next.is_some_and(closes)) {
            self.held.push_str(&gap.space);
        }
        if gap.is_parenthesised {
            self.held.push('(');
        }
    }

    /// Where the part of a text begins that is held back.
    fn held_from(&self, text: &str) -> usize {
        let before = text.trim_end_matches(is_blank);
        let may_open = |outside: &&str| outside.chars().next_back().or(self.last).is_none_or(char::is_whitespace);
        let outside = before.strip_suffix('(').filter(may_open).map(|outside| outside.trim_end_matches(is_blank));
        outside.unwrap_or(before).len().max(text.len().saturating_sub(MAX_HELD_BYTES))
    }
}

impl Gap {
    /// Skips the white space behind the gap, and the parenthesis that closes an empty pair.
    fn skip<'a>(&mut self, text: &'a str) -> &'a str {
        let mut text = self.skip_blanks(text);
        if let Some(rest) = text.strip_prefix(')').filter(|_| self.is_parenthesised) {
            self.is_parenthesised = false;
            text = self.skip_blanks(rest);
        }
        text
    }

    fn skip_blanks<'a>(&mut self, text: &'a str) -> &'a str {
        let rest = text.trim_start_matches(is_blank);
        if rest.len() < text.len() && !self.is_line_start && !self.is_parenthesised {
            " ".clone_into(&mut self.space);
        }
        rest
    }
}

/// Whether a character is white space within a line.
pub(super) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// Whether no space precedes this punctuation.
fn closes(character: char) -> bool {
    matches!(
        character,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | ')'
            | ']'
            | '}'
            | '%'
            | '\u{2019}'
            | '\u{201d}'
            | '\u{bb}'
            | '\u{2026}'
            | '\u{3001}'
            | '\u{3002}'
            | '\u{3009}'
            | '\u{300b}'
            | '\u{300d}'
            | '\u{300f}'
            | '\u{3011}'
            | '\u{ff01}'
            | '\u{ff09}'
            | '\u{ff0c}'
            | '\u{ff0e}'
            | '\u{ff1a}'
            | '\u{ff1b}'
            | '\u{ff1f}'
            | '\u{ff3d}'
    )
}

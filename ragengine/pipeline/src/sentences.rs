//! Where sentences end, in time that grows as the text does. The crate for Unicode's segmentation looks ahead from every space behind a full
//! stop, as far as the next letter: kilobytes of spaces and digits take it seconds.

/// How far is looked ahead for the case of the next letter, in characters.
const MAX_LOOK_AHEAD: usize = 16;

/// What may have ended a sentence.
#[derive(Debug, Clone, Copy)]
struct End {
    /// A full stop, which may also be one of a number or an abbreviation.
    is_full_stop: bool,
    after_letter: bool,
    /// White space has followed it.
    spaced: bool,
}

impl End {
    /// Whether the text from its next letter on belongs to the same sentence.
    fn goes_on(self, rest: &str, letter: char) -> bool {
        let is_inner = !self.spaced && (letter.is_numeric() || self.after_letter && letter.is_uppercase());
        is_continuing(letter) || self.is_full_stop && (is_inner || begins_small(rest))
    }
}

/// Where sentences end, in bytes: as Unicode's annex 29 has it, but for how far is looked ahead. The end of the text is none.
pub fn sentence_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut ended: Option<End> = None;
    let mut after_letter = false;
    let mut letters = text.char_indices().peekable();
    while let Some((offset, letter)) = letters.next() {
        match &mut ended {
            _ if is_line_break(letter) => {
                if !(letter == '\r' && letters.peek().is_some_and(|(_, next)| *next == '\n')) {
                    ends.push(offset + letter.len_utf8());
                }
                ended = None;
            }
            _ if is_end(letter) => {
                ended = Some(End { is_full_stop: is_full_stop(letter), after_letter, spaced: false })
            }
            Some(end) if letter.is_whitespace() => end.spaced = true,
            Some(end) if is_closing(letter) && !end.spaced => {}
            Some(end) => {
                if !end.goes_on(&text[offset..], letter) {
                    ends.push(offset);
                }
                ended = None;
            }
            None => {}
        }
        after_letter = letter.is_alphabetic();
    }
    ends.retain(|end| *end < text.len());
    ends
}

fn begins_small(text: &str) -> bool {
    let stops = |letter: &char| letter.is_alphabetic() || is_line_break(*letter) || is_end(*letter);
    text.chars().take(MAX_LOOK_AHEAD).find(stops).is_some_and(char::is_lowercase)
}

fn is_line_break(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_full_stop(letter: char) -> bool {
    matches!(letter, '.' | '\u{2024}' | '\u{FE52}' | '\u{FF0E}')
}

fn is_end(letter: char) -> bool {
    is_full_stop(letter)
        || matches!(
            letter,
            '!' | '?'
                | '\u{589}'
                | '\u{61F}'
                | '\u{6D4}'
                | '\u{964}'
                | '\u{965}'
                | '\u{104A}'
                | '\u{104B}'
                | '\u{203C}'
                | '\u{203D}'
                | '\u{2047}'..='\u{2049}' | '\u{3002}' | '\u{FF01}' | '\u{FF1F}' | '\u{FF61}'
        )
}

fn is_closing(letter: char) -> bool {
    matches!(
        letter,
        '"' | '\'' | '(' | ')' | '[' | ']' | '{' | '}' | '\u{AB}' | '\u{BB}' | '\u{2018}'..='\u{201F}' | '\u{2039}'
            | '\u{203A}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301B}' | '\u{FF08}' | '\u{FF09}'
    )
}

fn is_continuing(letter: char) -> bool {
    matches!(
        letter,
        ',' | '-' | ':' | ';' | '\u{2013}' | '\u{2014}' | '\u{3001}' | '\u{FF0C}' | '\u{FF1A}' | '\u{FF1B}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_unicode_says() {
        for (text, expected) in [
            ("", vec![]),
            ("One. Two? Three!", vec!["One. ", "Two? ", "Three!"]),
            ("He said \"No.\" Then he left.", vec!["He said \"No.\" ", "Then he left."]),
            ("It is 3.14 of a U.S. dollar, i.e. little.", vec!["It is 3.14 of a U.S. dollar, i.e. little."]),
            ("Wait... what? Yes.", vec!["Wait... what? ", "Yes."]),
            ("A.\nb\r\nc", vec!["A.\n", "b\r\n", "c"]),
            ("天気です。雨です。", vec!["天気です。", "雨です。"]),
            ("Really?! (Yes.) \u{201c}So.\u{201d} Good", vec!["Really?! ", "(Yes.) ", "\u{201c}So.\u{201d} ", "Good"]),
            ("e.g., this; No.", vec!["e.g., this; No."]),
        ] {
            let ends = sentence_ends(text);
            let starts = [0].into_iter().chain(ends.iter().copied());
            let parts: Vec<&str> =
                starts.zip(ends.iter().copied().chain([text.len()])).map(|(start, end)| &text[start..end]).collect();
            let parts = if text.is_empty() { Vec::new() } else { parts };
            assert_eq!(parts, expected);
        }
    }

    #[test]
    fn what_is_far_behind_a_full_stop_is_not_looked_at() {
        // A second for each look, were it looked at from every space.
        let text = format!("a.{}{}b", " ".repeat(500_000), "1".repeat(500_000));
        assert_eq!(sentence_ends(&text), [500_002]);
    }
}

//! Finds the ends of sentences in linear time.
//!
//! The crate `unicode-segmentation` looks ahead from every space after a full stop to the next letter. So it needs
//! seconds for some kilobytes of spaces and digits.

/// The maximum distance to the next letter, in characters. Its case decides whether a full stop ends a sentence.
const MAX_LOOK_AHEAD: usize = 16;

/// A character that may end a sentence, such as a full stop.
#[derive(Debug, Clone, Copy)]
struct SentenceEnd {
    /// A full stop. It may belong to a number or an abbreviation.
    is_full_stop: bool,
    after_letter: bool,
    /// White space follows it.
    spaced: bool,
}

impl SentenceEnd {
    /// Whether the sentence continues with this character. `rest` is the text from the character on.
    fn continues(self, rest: &str, character: char) -> bool {
        let is_inner = !self.spaced && (character.is_numeric() || self.after_letter && character.is_uppercase());
        is_continuing(character) || self.is_full_stop && (is_inner || starts_lowercase(rest))
    }
}

/// The ends of sentences, as byte offsets, without the end of the text. They are those of Unicode Standard Annex 29,
/// except that the look-ahead after a full stop is bounded.
pub fn sentence_ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut ended: Option<SentenceEnd> = None;
    let mut after_letter = false;
    let mut characters = text.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        match &mut ended {
            _ if is_line_break(character) => {
                if !(character == '\r' && characters.peek().is_some_and(|(_, next)| *next == '\n')) {
                    ends.push(offset + character.len_utf8());
                }
                ended = None;
            }
            _ if is_end(character) => {
                ended = Some(SentenceEnd { is_full_stop: is_full_stop(character), after_letter, spaced: false })
            }
            Some(end) if character.is_whitespace() => end.spaced = true,
            Some(end) if is_closing(character) && !end.spaced => {}
            Some(end) => {
                if !end.continues(&text[offset..], character) {
                    ends.push(offset);
                }
                ended = None;
            }
            None => {}
        }
        after_letter = character.is_alphabetic();
    }
    ends.retain(|end| *end < text.len());
    ends
}

/// Whether the next letter of the same line and sentence is lowercase.
fn starts_lowercase(text: &str) -> bool {
    let stops = |character: &char| character.is_alphabetic() || is_line_break(*character) || is_end(*character);
    text.chars().take(MAX_LOOK_AHEAD).find(stops).is_some_and(char::is_lowercase)
}

fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_full_stop(character: char) -> bool {
    matches!(character, '.' | '\u{2024}' | '\u{FE52}' | '\u{FF0E}')
}

fn is_end(character: char) -> bool {
    is_full_stop(character)
        || matches!(
            character,
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

fn is_closing(character: char) -> bool {
    matches!(
        character,
        '"' | '\'' | '(' | ')' | '[' | ']' | '{' | '}' | '\u{AB}' | '\u{BB}' | '\u{2018}'..='\u{201F}' | '\u{2039}'
            | '\u{203A}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301B}' | '\u{FF08}' | '\u{FF09}'
    )
}

fn is_continuing(character: char) -> bool {
    matches!(
        character,
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
            ("\"Why?\", he said.", vec!["\"Why?\", he said."]),
            ("See 3.Annex of it.", vec!["See 3.", "Annex of it."]),
            ("Room 5. 12\nis free.", vec!["Room 5. ", "12\n", "is free."]),
            ("Call 5. 12! or so.", vec!["Call 5. ", "12! ", "or so."]),
            ("One\rtwo.\n\nThree.\n", vec!["One\r", "two.\n", "\n", "Three.\n"]),
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
    fn the_look_ahead_after_a_full_stop_is_bounded() {
        // An unbounded look-ahead from every space would take about a second each.
        let text = format!("a.{}{}b", " ".repeat(500_000), "1".repeat(500_000));
        assert_eq!(sentence_ends(&text), [500_002]);
    }
}

//! The first sentence of an answer tells whether the sources suffice.

use crate::sentences::sentence_ends;

/// The maximum length of a first sentence with its markers, in bytes. What follows is not looked at, so that a stream
/// need not wait.
const MAX_SENTENCE_BYTES: usize = 1024;

/// What a number in a marker counts, in bytes.
const NUMBER_BYTES: usize = 8;

/// How far the end of a sentence depends on the text after it, in characters.
const LOOK_AHEAD: usize = 16;

/// The beginning of an answer without markers, until its first sentence ends.
#[derive(Debug)]
pub(super) struct Opening {
    text: String,
    /// How much of the answer is still looked at, in bytes.
    left: usize,
}

impl Default for Opening {
    fn default() -> Self {
        Self { text: String::new(), left: MAX_SENTENCE_BYTES }
    }
}

impl Opening {
    /// Adds text. Its pieces may be of any size.
    pub(super) fn text(&mut self, text: &str) {
        let taken = text.floor_char_boundary(self.left);
        self.text.push_str(&text[..taken]);
        self.left = self.left.saturating_sub(text.len());
    }

    /// Adds a marker with so many numbers.
    pub(super) fn marker(&mut self, numbers: usize) {
        self.left = self.left.saturating_sub(numbers * NUMBER_BYTES);
    }

    /// The first sentence. None if more of the text must be known to find its end.
    pub(super) fn sentence(&self, is_last: bool) -> Option<&str> {
        let is_whole = is_last || self.left == 0;
        let text = self.text.trim_start();
        match sentence_ends(text).first() {
            None => is_whole.then_some(text),
            Some(end) => {
                let mut after = text[*end..].chars();
                // The next letter decides, if it is near enough.
                let is_decided = after.clone().any(char::is_alphabetic) || after.nth(LOOK_AHEAD - 1).is_some();
                (is_whole || is_decided).then_some(&text[..*end])
            }
        }
    }
}

/// Whether a sentence has one of these phrases, as whole words.
pub(super) fn has_phrase(sentence: &str, phrases: &[String]) -> bool {
    let sentence = folded(sentence);
    phrases.iter().map(|phrase| folded(phrase)).any(|phrase| !phrase.is_empty() && has_words(&sentence, &phrase))
}

fn has_words(sentence: &str, phrase: &str) -> bool {
    let is_word = |character: Option<char>| character.is_some_and(|character| character.is_alphanumeric());
    sentence.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&sentence[..at], &sentence[at + phrase.len()..]);
        !is_word(before.chars().next_back()) && !is_word(after.chars().next())
    })
}

/// A text in lower case, with single spaces and straight apostrophes.
fn folded(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ").replace('\u{2019}', "'")
}

//! Estimates the length of a text in tokens, without the embedding model's tokenizer.

/// Characters of a word that count as one piece.
const PIECE_CHARACTERS: usize = 5;

/// Most pieces of a passage. With the tokenizer of all-MiniLM-L6-v2, no passage with so few has more than 254 tokens.
const MAX_PIECES: usize = 206;

/// Whether a passage fits into one chunk.
pub(super) fn fits(text: &str) -> bool {
    pieces(text) <= MAX_PIECES
}

/// Number of pieces: punctuation marks, and each five letters or digits of a word.
fn pieces(text: &str) -> usize {
    let is_mark = |character: &char| !character.is_alphanumeric() && !character.is_whitespace();
    let words = text.split(|character: char| !character.is_alphanumeric());
    let in_words: usize = words.map(|word| word.chars().count().div_ceil(PIECE_CHARACTERS)).sum();
    in_words + text.chars().filter(is_mark).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_marks_are_counted() {
        for (text, count) in [("", 0), ("a bc", 2), ("abcde abcdef", 3), ("a_b(c);", 7)] {
            assert_eq!(pieces(text), count, "{text}");
        }
        assert!(fits(&"a ".repeat(206)) && !fits(&"a ".repeat(207)));
    }
}

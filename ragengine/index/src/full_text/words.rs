use std::collections::VecDeque;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Splits a text into words: runs of letters and digits.
///
/// An identifier such as `max_tokens` or `maxTokens` becomes `maxtokens`, `max` and `tokens`, so that it is found by
/// each spelling and by its parts. Scripts that do not separate words by spaces become pairs of characters.
#[derive(Debug, Clone, Default)]
pub struct Words;

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream { left: text, ready: VecDeque::new(), token: Token::default() }
    }
}

/// The words of a text, one after the other.
pub struct WordStream<'a> {
    left: &'a str,
    /// The words of the last run that are not returned yet.
    ready: VecDeque<String>,
    token: Token,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        self.token.position = self.token.position.wrapping_add(1);
        loop {
            if let Some(word) = self.ready.pop_front() {
                self.token.text = word;
                return true;
            }
            let Some(start) = self.left.find(is_word) else { return false };
            let run = &self.left[start..];
            let end = run.find(|character| !is_word(character) && character != '_').unwrap_or(run.len());
            let (run, left) = run.split_at(end);
            self.left = left;
            if is_simple(run) {
                self.token.text.clear();
                self.token.text.push_str(run);
                return true;
            }
            split(run, &mut self.ready);
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric()
}

/// Whether a run is one word: ASCII, without an underscore or an upper-case letter after a lower-case one.
fn is_simple(run: &str) -> bool {
    let bytes = run.as_bytes();
    run.is_ascii()
        && !bytes.contains(&b'_')
        && !bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        && !bytes.windows(3).any(|three| three[..2].iter().all(u8::is_ascii_uppercase) && three[2].is_ascii_lowercase())
}

/// Splits a run into an identifier and its parts, or into pairs of characters.
fn split(run: &str, words: &mut VecDeque<String>) {
    if run.contains(is_unspaced) {
        pairs(run, words);
        return;
    }
    let parts = parts(run);
    if parts.len() > 1 {
        words.push_back(run.chars().filter(|character| *character != '_').collect());
    }
    words.extend(parts);
}

/// The parts of an identifier: split at underscores, before an upper-case letter after a lower-case one, and before the
/// last upper-case letter of several (`HTTPServer`).
fn parts(run: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for piece in run.split('_').filter(|piece| !piece.is_empty()) {
        let characters: Vec<char> = piece.chars().collect();
        let mut part = String::new();
        for (place, &character) in characters.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| characters[before]);
            let after = characters.get(place + 1);
            let is_after_lower = before.is_some_and(char::is_lowercase);
            let is_last_upper =
                before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase());
            if character.is_uppercase() && (is_after_lower || is_last_upper) {
                parts.push(std::mem::take(&mut part));
            }
            part.push(character);
        }
        parts.push(part);
    }
    parts
}

/// Whether a character is of a script without spaces between words: Thai, Lao, Khmer, Japanese or Chinese.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0E00}'..='\u{0EFF}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// The pairs of neighbouring characters of unspaced scripts, and the words between them.
fn pairs(run: &str, words: &mut VecDeque<String>) {
    let characters: Vec<char> = run.chars().collect();
    for piece in characters.chunk_by(|left, right| is_unspaced(*left) == is_unspaced(*right)) {
        if is_unspaced(piece[0]) && piece.len() > 1 {
            words.extend(piece.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            words.push_back(piece.iter().collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut tokenizer = Words;
        let mut stream = tokenizer.token_stream(text);
        let mut words = Vec::new();
        while stream.advance() {
            words.push(stream.token().text.clone());
        }
        words
    }

    #[test]
    fn texts_are_split_into_words() {
        for (text, expected) in [
            ("", vec![]),
            ("  -- ", vec![]),
            ("Lunch is at 12.30.", vec!["Lunch", "is", "at", "12", "30"]),
            ("max_tokens", vec!["maxtokens", "max", "tokens"]),
            ("maxTokens", vec!["maxTokens", "max", "Tokens"]),
            ("_private __init__", vec!["private", "init"]),
            ("HTTPServer2 IOError", vec!["HTTPServer2", "HTTP", "Server2", "IOError", "IO", "Error"]),
            ("os.path.join(x)", vec!["os", "path", "join", "x"]),
            ("utf8 SHA256 --dry-run", vec!["utf8", "SHA256", "dry", "run"]),
            ("Größe naïve", vec!["Größe", "naïve"]),
            ("日本語", vec!["日本", "本語"]),
            ("中 RAGは検索", vec!["中", "RAG", "は検", "検索"]),
            ("한국어 문서", vec!["한국어", "문서"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}

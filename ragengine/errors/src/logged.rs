use crate::texts;

/// The longest words in the log in characters.
const MAX_WORDS: usize = 1000;

/// An error whose words may quote others.
pub trait Logged: ToString {
    /// Its words without any that may be somebody else's. None: it may quote anywhere.
    fn own_words(&self) -> Option<String>;

    /// The words for the log: all of them where texts of others are logged, else its own, or how many there are.
    fn for_log(&self) -> String {
        let words = if texts::are_logged() { Some(self.to_string()) } else { self.own_words() };
        let words = words.unwrap_or_else(|| texts::length(&self.to_string()));
        match words.char_indices().nth(MAX_WORDS) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }
}

use crate::texts;

/// Maximum length of an error message in the log, in characters.
const MAX_WORDS: usize = 1000;

/// An error whose message may quote foreign texts (see [`texts`]).
pub trait Logged: ToString {
    /// The message without foreign texts. None if it may quote them anywhere.
    fn own_words(&self) -> Option<String>;

    /// The message for the log: complete if foreign texts are logged, otherwise [`Self::own_words`] or the message's
    /// length.
    fn for_log(&self) -> String {
        let words = if texts::are_logged() { Some(self.to_string()) } else { self.own_words() };
        let words = words.unwrap_or_else(|| texts::length(&self.to_string()));
        match words.char_indices().nth(MAX_WORDS) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }
}

//! Limits the reading time.

use super::{Action, Blocked};
use crate::limits::MAX_HELD_BYTES;
use crate::redaction::REDACTED;
use crate::scanner::ReadingTime;

/// Counts words as they arrive. The words within the limit are not held back.
pub(crate) struct WordStage {
    limit: ReadingTime,
    action: Action,
    words: u64,
    in_word: bool,
    /// Whitespace after the last word within the limit. It is shown only before something else.
    /// At most [`MAX_HELD_BYTES`].
    space: String,
    ended: bool,
}

impl WordStage {
    pub fn new(limit: ReadingTime, action: Action) -> Self {
        Self { limit, action, words: 0, in_word: false, space: String::new(), ended: false }
    }

    pub fn triggered(&self) -> bool {
        self.ended
    }

    pub fn held_bytes(&self) -> usize {
        self.space.len()
    }

    pub fn push(&mut self, piece: &str, out: &mut String) -> Result<(), Blocked> {
        for char in piece.chars() {
            if self.ended {
                return Ok(());
            }
            if char.is_whitespace() {
                self.in_word = false;
                if self.words == self.limit.max_words {
                    // Endless space must not fill the memory. It fails closed, as a match that is too long.
                    if self.space.len() + char.len_utf8() > MAX_HELD_BYTES {
                        return self.end(out);
                    }
                    self.space.push(char);
                    continue;
                }
            } else if !self.in_word {
                if self.words == self.limit.max_words {
                    return self.end(out);
                }
                self.in_word = true;
                self.words += 1;
            }
            out.push(char);
        }
        Ok(())
    }

    fn end(&mut self, out: &mut String) -> Result<(), Blocked> {
        self.ended = true;
        if self.action == Action::Block {
            return Err(Blocked);
        }
        if !self.limit.truncate {
            out.push_str(&self.space);
            out.push_str(REDACTED);
        }
        self.space = String::new();
        Ok(())
    }

    pub fn finish(&mut self, out: &mut String) -> Result<(), Blocked> {
        out.push_str(&std::mem::take(&mut self.space));
        Ok(())
    }
}

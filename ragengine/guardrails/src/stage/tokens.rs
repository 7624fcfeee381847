//! Limits the number of tokens.

use super::{Action, Blocked};
use crate::scanner::TokenLimit;

/// A word's end may depend on so many bytes after it: an apostrophe and two letters, one of them of two bytes.
const LOOK_AHEAD_BYTES: usize = 8;
/// Text is counted in pieces of about this size, as long as the limit is far.
const COUNT_BYTES: usize = 512;
/// Up to this size, text that is not counted is looked at with every piece near the limit.
const NEAR_BYTES: usize = 64;

/// Counts tokens as they arrive. Text that surely is within the limit is not held back.
pub(crate) struct TokenStage {
    limit: TokenLimit,
    action: Action,
    /// Tokens left after the text that has been counted.
    left: usize,
    /// Text that is not counted.
    text: String,
    /// How much of `text` has been put out.
    shown: usize,
    /// The length of `text` at which it is counted while the limit is far.
    count_at: usize,
    /// The length of `text` at which it is counted near the limit.
    near_at: usize,
    ended: bool,
}

impl TokenStage {
    pub fn new(limit: TokenLimit, action: Action) -> Self {
        Self {
            left: limit.limit,
            limit,
            action,
            text: String::new(),
            shown: 0,
            count_at: COUNT_BYTES,
            near_at: 0,
            ended: false,
        }
    }

    pub fn triggered(&self) -> bool {
        self.ended
    }

    pub fn held_bytes(&self) -> usize {
        self.text.len() - self.shown
    }

    pub fn push(&mut self, piece: &str, out: &mut String) -> Result<(), Blocked> {
        if self.ended {
            return Ok(());
        }
        self.text.push_str(piece);
        // A token has at least one byte. So most answers are never near the limit, and are counted in large pieces.
        let near = self.text.len() > self.left && self.text.len() >= self.near_at;
        if near || self.text.len() >= self.count_at {
            self.count(out)?;
        }
        if !self.ended && self.text.len() <= self.left {
            out.push_str(&self.text[self.shown..]);
            self.shown = self.text.len();
        }
        Ok(())
    }

    /// Counts the words of `text` whose ends are known.
    fn count(&mut self, out: &mut String) -> Result<(), Blocked> {
        let text = std::mem::take(&mut self.text);
        let known = text.trim_end().len().min(text.len().saturating_sub(LOOK_AHEAD_BYTES));
        let mut counted = 0;
        for word in self.limit.encoding.tokenizer().split(&text) {
            if counted + word.len() > known {
                break;
            }
            self.take(&text, counted, word, out)?;
            if self.ended {
                return Ok(());
            }
            counted += word.len();
        }
        if self.shown < counted {
            out.push_str(&text[self.shown..counted]);
        }
        self.shown = self.shown.saturating_sub(counted);
        self.text = text[counted..].to_owned();
        // A very long word is looked at again only when it has doubled.
        self.count_at = COUNT_BYTES.max(2 * self.text.len());
        self.near_at = if self.text.len() > NEAR_BYTES { 2 * self.text.len() } else { 0 };
        Ok(())
    }

    /// Takes the tokens of one word, which is at `offset` of `text`.
    fn take(&mut self, text: &str, offset: usize, word: &str, out: &mut String) -> Result<(), Blocked> {
        let bpe = &self.limit.encoding.tokenizer().bpe;
        let tokens = bpe.count(word.as_bytes());
        if tokens <= self.left {
            self.left -= tokens;
            return Ok(());
        }
        self.ended = true;
        let shown = std::mem::take(&mut self.shown);
        if self.action == Action::Block {
            return Err(Blocked);
        }
        let tokens = bpe.encode_via_backtracking(word.as_bytes());
        let within: usize = tokens.iter().take(self.left).map(|id| bpe.token_len(*id)).sum();
        let end = text.floor_char_boundary(offset + within);
        if shown < end {
            out.push_str(&text[shown..end]);
        }
        Ok(())
    }

    pub fn finish(&mut self, out: &mut String) -> Result<(), Blocked> {
        if self.ended {
            return Ok(());
        }
        let text = std::mem::take(&mut self.text);
        let mut counted = 0;
        for word in self.limit.encoding.tokenizer().split(&text) {
            self.take(&text, counted, word, out)?;
            if self.ended {
                return Ok(());
            }
            counted += word.len();
        }
        out.push_str(&text[self.shown..]);
        self.shown = 0;
        Ok(())
    }
}

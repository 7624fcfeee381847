use std::collections::HashMap;

use super::work::{Stopped, Work};

/// Pieces of a text whose tokens are counted once have so many bytes at most.
const MAX_PIECE_BYTES: usize = 128;
/// And at least, unless the text ends.
const MIN_PIECE_BYTES: usize = 16;
/// A token has so many bytes at most, or what has fewer tokens counts as if it had more. Some tokenizers take a word of megabytes for one.
pub(super) const MAX_BYTES_PER_TOKEN: usize = 64;
/// Counts of parts of pieces that are kept.
const MAX_KEPT: usize = 4096;

/// Counts the tokens of texts, and the steps that this takes.
#[derive(Clone, Copy)]
pub(super) struct Counter<'a> {
    pub count: &'a dyn Fn(&str) -> usize,
    pub work: &'a Work,
}

impl Counter<'_> {
    pub fn tokens(&self, text: &str) -> Result<usize, Stopped> {
        self.work.step(text.len())?;
        Ok((self.count)(text))
    }
}

/// How many tokens the beginnings of a text have, so that those of any part of it are a difference.
///
/// The text is counted once, in pieces that begin with white space where there is any. The sum is what the whole has, or very nearly: whoever
/// must not exceed a limit counts once more what came out.
pub(super) struct Tokens<'a> {
    text: &'a str,
    counter: Counter<'a>,
    piece_bytes: usize,
    /// Where each piece begins that has been counted, and the next one, with the tokens before it.
    starts: Vec<(usize, usize)>,
    /// The tokens before places within pieces.
    within: HashMap<usize, usize>,
}

impl<'a> Tokens<'a> {
    /// Those of a text of which parts of `capacity` tokens are wanted.
    pub fn of(text: &'a str, capacity: usize, counter: Counter<'a>) -> Self {
        let piece_bytes = (capacity / 2).clamp(MIN_PIECE_BYTES, MAX_PIECE_BYTES);
        Self { text, counter, piece_bytes, starts: vec![(0, 0)], within: HashMap::new() }
    }

    /// The tokens before a place.
    pub fn before(&mut self, offset: usize) -> Result<usize, Stopped> {
        while self.reached().0 < offset {
            self.count_piece()?;
        }
        let next = self.starts.partition_point(|(start, _)| *start <= offset);
        let (start, before) = self.starts[next - 1];
        if start == offset {
            return Ok(before);
        }
        if let Some(tokens) = self.within.get(&offset) {
            return Ok(*tokens);
        }
        // Part of a word may have more tokens than all of it.
        let most = self.starts.get(next).map_or(usize::MAX, |(_, before)| *before);
        let tokens = (before + self.counter.tokens(&self.text[start..offset])?).min(most);
        if self.within.len() >= MAX_KEPT {
            self.within.clear();
        }
        self.within.insert(offset, tokens);
        Ok(tokens)
    }

    /// How far a part from `offset` on reaches that has `tokens` at most and `max_bytes`: one letter at least.
    pub fn reach(&mut self, offset: usize, tokens: usize, max_bytes: usize) -> Result<usize, Stopped> {
        let most = self.before(offset)?.saturating_add(tokens);
        let farthest = self.text.floor_char_boundary(offset.saturating_add(max_bytes));
        while self.reached().0 < farthest && self.reached().1 <= most {
            self.count_piece()?;
        }
        let next = self.starts.partition_point(|(_, before)| *before <= most);
        let mut low = self.starts[next - 1].0.max(offset);
        let mut high = self.starts.get(next).map_or(low, |(start, _)| *start).min(farthest);
        // The piece that does not fit as a whole.
        loop {
            let middle = self.text.floor_char_boundary(low + high.saturating_sub(low) / 2);
            if middle <= low {
                break;
            }
            match self.before(middle)? <= most {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(low.min(farthest).max(self.text.ceil_char_boundary(offset + 1)))
    }

    /// What has been counted: up to where, and how many.
    fn reached(&self) -> (usize, usize) {
        self.starts[self.starts.len() - 1]
    }

    fn count_piece(&mut self) -> Result<(), Stopped> {
        let (start, before) = self.reached();
        let end = self.text.floor_char_boundary(start + self.piece_bytes);
        let is_last = end == self.text.len();
        let space = if is_last { None } else { self.text[start..end].rfind(char::is_whitespace) };
        let end = space.filter(|length| *length > 0).map_or(end, |length| start + length);
        let tokens = self.counter.tokens(&self.text[start..end])?;
        self.starts.push((end, before + tokens));
        Ok(())
    }
}

use std::collections::HashMap;

use super::work::{Stopped, Work};

/// The longest piece of a text whose tokens are counted at once, in bytes.
const MAX_PIECE_BYTES: usize = 128;
/// The shortest such piece, except at the end of the text.
const MIN_PIECE_BYTES: usize = 16;
/// The most bytes that count as one token. Some tokenizers make one token of a word of megabytes.
pub(super) const MAX_BYTES_PER_TOKEN: usize = 64;
/// The most counts within pieces that are cached.
const MAX_KEPT: usize = 4096;

/// Counts tokens, and the steps that this needs.
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

/// The cumulative token counts of a text, so that the count of any part is a difference.
///
/// Each piece of the text is counted once; pieces start at white space where possible. The sum is very close to the
/// count of the whole text but not exact, so a chunk that must not exceed a limit is counted again.
pub(super) struct Tokens<'a> {
    text: &'a str,
    counter: Counter<'a>,
    piece_bytes: usize,
    /// The start of each counted piece and of the next one, with the tokens before it.
    starts: Vec<(usize, usize)>,
    /// The tokens before offsets within pieces.
    within: HashMap<usize, usize>,
}

impl<'a> Tokens<'a> {
    /// The counts of a text that is divided into parts of `capacity` tokens.
    pub fn of(text: &'a str, capacity: usize, counter: Counter<'a>) -> Self {
        let piece_bytes = (capacity / 2).clamp(MIN_PIECE_BYTES, MAX_PIECE_BYTES);
        Self { text, counter, piece_bytes, starts: vec![(0, 0)], within: HashMap::new() }
    }

    /// The tokens before an offset.
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
        // Part of a word may have more tokens than the whole word.
        let most = self.starts.get(next).map_or(usize::MAX, |(_, before)| *before);
        let tokens = (before + self.counter.tokens(&self.text[start..offset])?).min(most);
        if self.within.len() >= MAX_KEPT {
            self.within.clear();
        }
        self.within.insert(offset, tokens);
        Ok(tokens)
    }

    /// The end of the longest part from `offset` on with at most `tokens` tokens and `max_bytes` bytes, and at least
    /// one letter.
    pub fn reach(&mut self, offset: usize, tokens: usize, max_bytes: usize) -> Result<usize, Stopped> {
        let most = self.before(offset)?.saturating_add(tokens);
        let farthest = self.text.floor_char_boundary(offset.saturating_add(max_bytes));
        while self.reached().0 < farthest && self.reached().1 <= most {
            self.count_piece()?;
        }
        let next = self.starts.partition_point(|(_, before)| *before <= most);
        let mut low = self.starts[next - 1].0.max(offset);
        let mut high = self.starts.get(next).map_or(low, |(start, _)| *start).min(farthest);
        // Bisects the first piece that does not fit completely.
        loop {
            let middle = self.text.floor_char_boundary(low + high.saturating_sub(low) / 2);
            if middle <= low {
                break;
            }
            if self.before(middle)? <= most {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low.min(farthest).max(self.text.ceil_char_boundary(offset + 1)))
    }

    /// The end of the counted text, and its tokens.
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

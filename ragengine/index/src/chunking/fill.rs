//! Fills chunks with as much text as fits, up to the best place to cut.

use super::boundary::{Boundary, between};
use super::prose;
use super::tokens::{Counter, MAX_BYTES_PER_TOKEN, Tokens};
use super::work::Stopped;

/// Bytes that are read beyond the limit, to find out whether a word ends there.
const LOOK_AHEAD_BYTES: usize = 64;
/// How often a chunk that is too long is shortened by tokens. After that, its bytes are halved.
const MAX_ATTEMPTS: u32 = 3;

/// The least new text of a chunk, as one part in so many of what fits, even if better places come earlier. In deeply
/// nested blocks the best place is always the first one, so each chunk would be a single bracket.
const LEAST_PART: usize = 8;

/// The capacity of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// The most tokens.
    pub capacity: usize,
    /// Tokens that are repeated at the start of the next chunk.
    pub overlap: usize,
}

/// Which white space is removed at the ends of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trim {
    /// All white space.
    All,
    /// Empty lines at the start, and all white space at the end. The indentation of the first line is meaningful.
    ButIndentation,
}

/// Whether a filled chunk is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is accepted.
    Fits,
    /// It is too long by this many tokens.
    TooLong(usize),
}

/// Where a chunk ends, and where the next one may begin within it.
struct End {
    offset: usize,
    /// Places as good as the end, in order.
    starts: Vec<usize>,
}

/// Fills chunks with a text that is cut at `boundaries`, whose offsets are relative to `origin`. `take` decides whether
/// a chunk fits; it must accept a single letter.
pub(super) fn fill(
    text: &str,
    (origin, boundaries): (usize, &[Boundary]),
    (room, trim): (Room, Trim),
    counter: Counter<'_>,
    mut take: impl FnMut(&str) -> Result<Verdict, Stopped>,
) -> Result<(), Stopped> {
    let mut filler = Filler { text, origin, boundaries, counter, tokens: Tokens::of(text, room.capacity, counter) };
    let (mut start, mut done) = (0, 0);
    loop {
        let Some(new) = filler.content_from(done)? else { return Ok(()) };
        let Some(end) = filler.fill_one(start, new, room, |chunk| take(trimmed(chunk, trim)))? else {
            // The overlap leaves no room for new text.
            start = new;
            continue;
        };
        done = end.offset;
        start = filler.overlap(&end, start, room.overlap)?;
    }
}

struct Filler<'a> {
    text: &'a str,
    origin: usize,
    boundaries: &'a [Boundary],
    counter: Counter<'a>,
    tokens: Tokens<'a>,
}

impl Filler<'_> {
    /// The offset of the first character that is not white space, from `offset` on.
    fn content_from(&self, offset: usize) -> Result<Option<usize>, Stopped> {
        let rest = &self.text[offset..];
        let space = rest.len() - rest.trim_start().len();
        self.counter.work.step(space + 1)?;
        Ok((space < rest.len()).then_some(offset + space))
    }

    /// Fills a chunk from `start` that ends after `new`. None if the text before `new` leaves no room for that.
    fn fill_one(
        &mut self,
        start: usize,
        new: usize,
        room: Room,
        mut take: impl FnMut(&str) -> Result<Verdict, Stopped>,
    ) -> Result<Option<End>, Stopped> {
        let (mut capacity, mut max_bytes) = (room.capacity, room.capacity.saturating_mul(MAX_BYTES_PER_TOKEN));
        for attempt in 0.. {
            let reach = self.tokens.reach(start, capacity, max_bytes)?;
            let Some(end) = self.end(start, new, reach)? else { return Ok(None) };
            let chunk = &self.text[start..end.offset];
            match take(chunk)? {
                Verdict::Fits => return Ok(Some(end)),
                Verdict::TooLong(_) if start < new => return Ok(None),
                Verdict::TooLong(excess) if attempt < MAX_ATTEMPTS => {
                    capacity = capacity.saturating_sub(excess.max(capacity / 8)).max(1);
                }
                Verdict::TooLong(_) => max_bytes = chunk.len() / 2,
            }
        }
        Ok(None)
    }

    /// The best end after `new` and up to `reach`. None if the boundaries before `new` are better: the overlap would
    /// split text that belongs together.
    fn end(&self, start: usize, new: usize, reach: usize) -> Result<Option<End>, Stopped> {
        if reach == self.text.len() {
            return Ok(Some(End { offset: reach, starts: Vec::new() }));
        }
        if reach <= new {
            return Ok(if start < new { None } else { Some(End { offset: reach, starts: Vec::new() }) });
        }
        let within = between(self.boundaries, self.origin + start, self.origin + reach);
        self.counter.work.step(within.len() + 1)?;
        if let Some(last) = within.last() {
            let (repeated, added) = within.split_at(between(within, 0, self.origin + new).len());
            if best_level(repeated) > best_level(added) {
                return Ok(None);
            }
            let least = self.origin + new + (reach - new) / LEAST_PART;
            let starts = match best_level(between(added, least, usize::MAX)) {
                Some(level) => within.iter().filter(|boundary| boundary.level >= level).collect(),
                None => vec![last],
            };
            let starts = starts.into_iter().map(|boundary| boundary.offset() - self.origin).collect();
            return Ok(Self::last(starts, new));
        }
        let ahead = self.text.ceil_char_boundary((reach + LOOK_AHEAD_BYTES).min(self.text.len()));
        self.counter.work.step(ahead - start)?;
        let seams = prose::seams(&self.text[start..ahead], 0, reach - start);
        let starts =
            seams.into_iter().map(|seam| start + seam).filter(|seam| *seam > start && *seam <= reach).collect();
        Ok(Self::last(starts, new))
    }

    fn last(mut starts: Vec<usize>, new: usize) -> Option<End> {
        let offset = starts.pop().filter(|offset| *offset > new)?;
        Some(End { offset, starts })
    }

    /// The start of the next chunk: as far before the end as the overlap allows.
    fn overlap(&mut self, end: &End, start: usize, max_tokens: usize) -> Result<usize, Stopped> {
        if max_tokens == 0 || end.offset == self.text.len() {
            return Ok(end.offset);
        }
        let total = self.tokens.before(end.offset)?;
        let (mut low, mut high) = (0, end.starts.len());
        while low < high {
            let middle = low.midpoint(high);
            if total.saturating_sub(self.tokens.before(end.starts[middle])?) <= max_tokens {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(end.starts.get(low).copied().filter(|offset| *offset > start).unwrap_or(end.offset))
    }
}

fn best_level(boundaries: &[Boundary]) -> Option<u8> {
    boundaries.iter().map(|boundary| boundary.level).max()
}

fn trimmed(text: &str, trim: Trim) -> &str {
    const LINE_BREAKS: [char; 2] = ['\n', '\r'];
    match trim {
        Trim::ButIndentation if text.trim().contains(LINE_BREAKS) => text.trim_start_matches(LINE_BREAKS).trim_end(),
        Trim::ButIndentation | Trim::All => text.trim(),
    }
}

use std::ops::Range;
use std::sync::Arc;

use roaring::{RoaringBitmap, RoaringTreemap};

use super::segment::TextSegment;

/// The least chunks outside the files for which it is worthwhile to write files. Analysing as many takes 0.1 s.
const MIN_LOOSE_ROWS: u64 = if cfg!(test) { 20 } else { 2_000 };

/// The most segments that are searched one after the other before merging them is worthwhile.
const MAX_PARTS: usize = 40;

/// Segments of about the same size that are merged into one.
const MERGED_PARTS: usize = 4;

/// The most chunks of a segment that is merged in memory.
const MAX_ROWS_IN_MEMORY: usize = 16_384;

/// A segment, and which of its positions are dead. The set is copied on write, so readers keep a consistent state.
#[derive(Clone)]
pub struct TextPart {
    pub(super) segment: Arc<TextSegment>,
    pub(super) dead: Arc<RoaringBitmap>,
}

impl TextPart {
    /// The number of chunks that are alive.
    fn alive(&self) -> u64 {
        self.segment.rows().len() as u64 - self.dead.len()
    }

    /// Whether the chunk at a position is alive.
    pub fn is_alive(&self, position: u32) -> bool {
        !self.dead.contains(position)
    }

    fn remove(&mut self, rows: &Range<u64>) {
        let all = self.segment.rows();
        let start = all.partition_point(|row| *row < rows.start);
        let end = start + all[start..].partition_point(|row| *row < rows.end);
        if start < end
            && let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end))
        {
            Arc::make_mut(&mut self.dead).insert_range(start..end);
        }
    }
}

/// The full text of an index at one moment.
#[derive(Clone, Default)]
pub struct TextSet {
    parts: Vec<TextPart>,
    /// The rows that are not analysed yet.
    pending: Arc<RoaringTreemap>,
    /// How many segments, from the first on, are being merged into files.
    closed: usize,
}

impl TextSet {
    /// The segments.
    pub fn parts(&self) -> &[TextPart] {
        &self.parts
    }

    /// The rows that are not analysed yet. A search by words does not find them.
    pub fn pending(&self) -> &RoaringTreemap {
        &self.pending
    }

    /// Adds rows, which are analysed later.
    pub fn add(&mut self, rows: Range<u64>) {
        Arc::make_mut(&mut self.pending).insert_range(rows);
    }

    /// Removes rows.
    pub fn remove(&mut self, rows: &Range<u64>) {
        Arc::make_mut(&mut self.pending).remove_range(rows.clone());
        self.parts.iter_mut().for_each(|part| part.remove(rows));
    }

    /// Takes a segment of rows that were pending. Rows that are not pending any more are dead in it.
    pub fn take(&mut self, segment: TextSegment) {
        let pending = Arc::make_mut(&mut self.pending);
        let mut is_gone = |row: u64| !pending.remove(row);
        let dead = (0..).zip(segment.rows()).filter(|(_, row)| is_gone(**row)).map(|(position, _)| position).collect();
        self.parts.push(TextPart { segment: Arc::new(segment), dead: Arc::new(dead) });
    }

    /// Closes all segments for a merge into files, and returns them.
    pub fn close(&mut self) -> Vec<TextPart> {
        self.closed = self.parts.len();
        self.parts.clone()
    }

    /// Opens the segments again after a merge that failed.
    pub fn reopen(&mut self) {
        self.closed = 0;
    }

    /// Replaces neighbouring segments by the one that was merged from them. Rows that were removed since then are dead
    /// in it. Returns the replaced segments, because freeing their memory takes a while. None if they are not there any
    /// more: the set stays as it is then.
    pub fn replace(&mut self, merged: &[TextPart], segment: TextSegment) -> Option<Vec<TextPart>> {
        let is_first = |part: &TextPart| merged.first().is_some_and(|first| first.is_of(part));
        let first = self.parts.iter().position(is_first)?;
        let now = self.parts.get(first..first + merged.len())?;
        if !now.iter().zip(merged).all(|(now, then)| now.is_of(then)) {
            return None;
        }
        let mut part = TextPart { segment: Arc::new(segment), dead: Arc::default() };
        for (now, then) in now.iter().zip(merged) {
            for position in &*now.dead - &*then.dead {
                let row = now.segment.rows()[position as usize];
                part.remove(&(row..row + 1));
            }
        }
        if first < self.closed {
            self.closed = 0;
        }
        Some(self.parts.splice(first..first + merged.len(), (part.alive() > 0).then_some(part)).collect())
    }

    /// The latest segments in memory that have about the same size, if there are enough of them to merge.
    pub fn to_merge_in_memory(&self) -> Option<&[TextPart]> {
        let open = &self.parts[self.closed.min(self.parts.len())..];
        let latest = &open[open.len().checked_sub(MERGED_PARTS)?..];
        let sizes = || latest.iter().map(|part| part.segment.rows().len().max(1));
        let is_on_disk = latest.iter().any(|part| part.segment.is_on_disk());
        let (least, most) = (sizes().min()?, sizes().max()?);
        let is_small = sizes().sum::<usize>() <= MAX_ROWS_IN_MEMORY;
        (is_small && !is_on_disk && most / least < MERGED_PARTS).then_some(latest)
    }

    /// Whether it is worthwhile to merge everything into files: because a quarter of the chunks is outside them or dead
    /// in them, or there are many segments.
    pub fn is_merge_due(&self) -> bool {
        let of = |is_on_disk: bool| self.parts.iter().filter(move |part| part.segment.is_on_disk() == is_on_disk);
        let loose = of(false).map(TextPart::alive).sum::<u64>() + self.pending.len();
        let (alive, dead) = of(true).fold((0, 0), |(alive, dead), part| (alive + part.alive(), dead + part.dead.len()));
        let is_large = |rows: u64| rows > MIN_LOOSE_ROWS && rows * 4 > alive + dead + loose;
        is_large(loose) || is_large(dead) || self.parts.len() > MAX_PARTS
    }
}

impl TextPart {
    fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.segment, &other.segment)
    }
}

/// A place at which a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary {
    /// The offset in bytes.
    pub offset: u32,
    /// The quality of the place: higher is better. Text between two boundaries of a level belongs together.
    pub level: u8,
}

/// The level of the end of a sentence. Structure has higher levels; words and letters have lower ones.
pub(super) const SENTENCE: u8 = 3;

impl Boundary {
    /// None if the offset exceeds 4 GiB. No document is that long.
    pub fn at(offset: usize, level: u8) -> Option<Self> {
        Some(Self { offset: u32::try_from(offset).ok()?, level })
    }

    pub fn offset(self) -> usize {
        self.offset as usize
    }
}

/// Sorts boundaries and keeps the best one for each offset. Drops those within a character, which a parser may report.
pub(super) fn in_order(mut boundaries: Vec<Boundary>, text: &str) -> Vec<Boundary> {
    boundaries.retain(|boundary| text.is_char_boundary(boundary.offset()));
    boundaries.sort_unstable_by_key(|boundary| (boundary.offset, u8::MAX - boundary.level));
    boundaries.dedup_by_key(|boundary| boundary.offset);
    boundaries
}

/// The boundaries after `from` and up to `to`.
pub(super) fn between(boundaries: &[Boundary], from: usize, to: usize) -> &[Boundary] {
    let begin = boundaries.partition_point(|boundary| boundary.offset() <= from);
    let end = boundaries.partition_point(|boundary| boundary.offset() <= to);
    &boundaries[begin..end.max(begin)]
}

/// A place at which a text may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Boundary {
    /// Where, in bytes.
    pub offset: u32,
    /// How good a place it is: the higher the better. What stands between two boundaries of a level belongs together.
    pub level: u8,
}

/// The end of a sentence. Whatever is read of a text's structure is above it; words and letters are below.
pub(super) const SENTENCE: u8 = 3;

impl Boundary {
    /// Of an offset of more than 4 GiB there is none: no document is that long.
    pub fn at(offset: usize, level: u8) -> Option<Self> {
        Some(Self { offset: u32::try_from(offset).ok()?, level })
    }

    pub fn offset(self) -> usize {
        self.offset as usize
    }
}

/// In their order, one for each place: the best. None is within a letter, whatever a parser says.
pub(super) fn in_order(mut boundaries: Vec<Boundary>, text: &str) -> Vec<Boundary> {
    boundaries.retain(|boundary| text.is_char_boundary(boundary.offset()));
    boundaries.sort_unstable_by_key(|boundary| (boundary.offset, u8::MAX - boundary.level));
    boundaries.dedup_by_key(|boundary| boundary.offset);
    boundaries
}

/// Those behind `from` and up to `to`.
pub(super) fn between(boundaries: &[Boundary], from: usize, to: usize) -> &[Boundary] {
    let begin = boundaries.partition_point(|boundary| boundary.offset() <= from);
    let end = boundaries.partition_point(|boundary| boundary.offset() <= to);
    &boundaries[begin..end.max(begin)]
}

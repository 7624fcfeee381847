//! How far a decision looks ahead.

/// The maximum length of undecided text, in bytes. Longer text is what it is without the undecided sign.
pub(crate) const MAX_HELD_BYTES: usize = 512;

/// Whether something is at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is, with this length in bytes.
    Yes(usize),
    No,
    /// Undecided until more of the text is known.
    Open,
}

/// The part of a text that a decision may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) text: &'a str,
    /// Nothing will be added to the text.
    pub(crate) is_whole: bool,
    /// The window is full: more of the text follows that the decision may not look at.
    pub(crate) is_full: bool,
}

impl<'a> Window<'a> {
    /// The beginning of the rest of a text. More of the text may follow, unless it is the last.
    pub(super) fn of(rest: &'a str, is_last: bool) -> Self {
        let end = rest.floor_char_boundary(MAX_HELD_BYTES);
        let is_full = end < rest.len();
        Self { text: &rest[..end], is_whole: is_last || is_full, is_full }
    }

    /// The window without its first bytes.
    pub(crate) fn from(self, at: usize) -> Self {
        Self { text: &self.text[at..], ..self }
    }

    /// The answer when the text ended too early for another one.
    pub(crate) fn ended(self) -> Look {
        if self.is_whole { Look::No } else { Look::Open }
    }
}

use super::{EventTooLong, Marking, Ready, Usage};

/// Why a stream is not passed on to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// An event is too long to be held.
    #[error(transparent)]
    TooLong(#[from] EventTooLong),
    /// It ended, however orderly its connection was closed.
    #[error("its stream ended before the answer did")]
    Early,
}

/// What became of an answer that was passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The tokens that it reported.
    pub usage: Option<Usage>,
    /// Whether it carries an error in the place of a chunk.
    pub has_error: bool,
}

/// An answer on its way from the language model to a client: pieces of a stream in, bytes to send out. It holds at most one event that has
/// not ended; when the stream breaks, that event is left out, because an error behind it could not be read.
#[derive(Debug, Default)]
pub struct Relaying {
    marking: Marking,
    has_ended: bool,
}

impl Relaying {
    /// A stream that gets these fields: names and JSON values.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { marking: Marking::new(fields), has_ended: false }
    }

    /// What to send for the next piece: whatever whole events it ends.
    ///
    /// # Errors
    ///
    /// [`Broken::TooLong`]. What was pushed before has been sent; of this piece nothing is.
    pub fn push(&mut self, piece: &[u8]) -> Result<Ready, Broken> {
        Ok(self.marking.push(piece)?)
    }

    /// What to send last, when the stream has ended.
    ///
    /// # Errors
    ///
    /// [`Broken::Early`] when the answer had not come to its end, and carries no error either.
    pub fn end(&mut self) -> Result<Vec<u8>, Broken> {
        let rest = self.marking.rest();
        self.has_ended = self.marking.is_whole() || self.marking.has_error();
        if self.has_ended { Ok(rest) } else { Err(Broken::Early) }
    }

    /// Whether a word of the answer has gone by.
    pub fn has_words(&self) -> bool {
        self.marking.has_words()
    }

    /// What became of the answer, once its end or the mark of it has gone by: a client that leaves at the mark has not left early.
    pub fn verdict(&self) -> Option<Verdict> {
        let has_come = self.has_ended || self.marking.is_done();
        has_come.then(|| Verdict { usage: self.marking.usage(), has_error: self.marking.has_error() })
    }
}

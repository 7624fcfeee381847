use super::{EventTooLong, Marking, Ready, Usage};

/// Why a stream could not be forwarded to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// An event is too long to be buffered.
    #[error(transparent)]
    TooLong(#[from] EventTooLong),
    /// The stream ended before the answer did, even if its connection was closed properly.
    #[error("its stream ended before the answer did")]
    Early,
}

/// The result of an answer that was forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The tokens that the language model reported.
    pub usage: Option<Usage>,
    /// Whether an error was sent instead of a chunk.
    pub has_error: bool,
}

/// Forwards an answer from the language model to a client: pieces of a stream in, bytes to send out. It buffers at most
/// one unfinished event. If the stream breaks, that event is dropped, because the client could not parse an error after
/// it.
#[derive(Debug, Default)]
pub struct Relaying {
    marking: Marking,
    has_ended: bool,
}

impl Relaying {
    /// Adds these fields, given as names and JSON values, to a stream.
    pub fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { marking: Marking::new(fields), has_ended: false }
    }

    /// The bytes to send for the next piece: the complete events that end in it.
    ///
    /// # Errors
    ///
    /// [`Broken::TooLong`]. Earlier pieces have been sent. Nothing of this piece is sent.
    pub fn push(&mut self, piece: &[u8]) -> Result<Ready, Broken> {
        Ok(self.marking.push(piece)?)
    }

    /// The bytes to send last, when the stream has ended.
    ///
    /// # Errors
    ///
    /// [`Broken::Early`] if the answer is incomplete and carries no error.
    pub fn end(&mut self) -> Result<Vec<u8>, Broken> {
        let rest = self.marking.rest();
        self.has_ended = self.marking.is_whole() || self.marking.has_error();
        if self.has_ended { Ok(rest) } else { Err(Broken::Early) }
    }

    /// Whether any content has been forwarded: text, reasoning, a refusal or a tool call.
    pub fn has_words(&self) -> bool {
        self.marking.has_words()
    }

    /// The result of the answer. None until its end or `[DONE]` has been seen: a client that disconnects after `[DONE]`
    /// has not disconnected early.
    pub fn verdict(&self) -> Option<Verdict> {
        let has_come = self.has_ended || self.marking.is_done();
        has_come.then(|| Verdict { usage: self.marking.usage(), has_error: self.marking.has_error() })
    }
}

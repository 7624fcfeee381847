/// One question and its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// Its number in the session: the order in which questions arrived.
    pub seq: u64,
    /// The question.
    pub question: String,
    /// The answer, as far as it was sent.
    pub answer: String,
    /// The answer's sources: a JSON list as text.
    pub sources: String,
    /// How long the answer took, in milliseconds.
    pub response_time_ms: u64,
    /// The model that answered.
    pub model: Option<String>,
    /// The answer's id, under which it can be voted on.
    pub answer_id: Option<String>,
    /// False if the answer was cut off.
    pub complete: bool,
    /// When the question arrived, in milliseconds since 1970.
    pub created_at_ms: i64,
}

impl Turn {
    /// The bytes of the question and the answer.
    pub(super) fn spoken_bytes(&self) -> usize {
        self.question.len() + self.answer.len()
    }

    /// The bytes of all texts.
    pub(super) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        self.spoken_bytes() + self.sources.len() + length(&self.model) + length(&self.answer_id)
    }
}

/// Which session. Sessions of other owners do not exist for the caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// The caller.
    pub owner: String,
    /// The session's id, unique for the owner.
    pub id: String,
}

/// How much of a history is read: the newest turns, as long as they stay within both limits. A turn that does not fit
/// ends the history, so that it has no gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newest {
    /// Turns at most.
    pub turns: usize,
    /// Bytes of their texts at most. Sources count where they are read.
    pub bytes: usize,
}

impl Newest {
    /// Takes the next older turn of this size. Returns whether it fits.
    pub(super) fn takes(&mut self, bytes: usize) -> bool {
        match (self.turns.checked_sub(1), self.bytes.checked_sub(bytes)) {
            (Some(turns), Some(bytes)) => {
                *self = Self { turns, bytes };
                true
            }
            _ => false,
        }
    }
}

/// A session as a new turn finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// The number of the new turn.
    pub seq: u64,
    /// Earlier turns, the oldest first, without their sources.
    pub turns: Vec<Turn>,
    /// Whether the session was unknown or had expired.
    pub is_new: bool,
}

//! One scanner at work on one text that arrives piece by piece. The stages of a policy form a chain.
//!
//! What a stage puts out does not depend on how the text is split into pieces.

mod patterns;
mod tokens;
mod whole;
mod words;

pub(crate) use patterns::PatternStage;
pub(crate) use tokens::TokenStage;
pub(crate) use whole::WholeStage;
pub(crate) use words::WordStage;

/// The answer must be blocked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Blocked;

/// What a policy does about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Replaces the matches.
    Redact,
    /// Replaces the answer by the policy's block message.
    Block,
}

/// A scanner at work.
pub(crate) enum Stage {
    Patterns(Box<PatternStage>),
    Whole(WholeStage),
    Tokens(TokenStage),
    Words(WordStage),
}

impl Stage {
    /// Takes the next piece, and appends to `out` what is decided.
    pub fn push(&mut self, piece: &str, out: &mut String) -> Result<(), Blocked> {
        match self {
            Self::Patterns(stage) => stage.push(piece, out),
            Self::Whole(stage) => stage.push(piece, out),
            Self::Tokens(stage) => stage.push(piece, out),
            Self::Words(stage) => stage.push(piece, out),
        }
    }

    /// Appends the rest to `out`.
    pub fn finish(&mut self, out: &mut String) -> Result<(), Blocked> {
        match self {
            Self::Patterns(stage) => stage.finish(out),
            Self::Whole(stage) => stage.finish(out),
            Self::Tokens(stage) => stage.finish(out),
            Self::Words(stage) => stage.finish(out),
        }
    }

    /// Whether the stage has found anything so far.
    pub fn triggered(&self) -> bool {
        match self {
            Self::Patterns(stage) => stage.triggered(),
            Self::Whole(stage) => stage.triggered(),
            Self::Tokens(stage) => stage.triggered(),
            Self::Words(stage) => stage.triggered(),
        }
    }

    /// The bytes of text that are not decided.
    pub fn held_bytes(&self) -> usize {
        match self {
            Self::Patterns(stage) => stage.held_bytes(),
            Self::Whole(stage) => stage.held_bytes(),
            Self::Tokens(stage) => stage.held_bytes(),
            Self::Words(stage) => stage.held_bytes(),
        }
    }
}

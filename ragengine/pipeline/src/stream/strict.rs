//! Reads answers that guardrails check. Only what is listed here is read, and only what was read is written. So nothing
//! can reach the client beside the texts that were checked.

mod calls;
mod fields;
mod wire;

pub use calls::ToolCall;
pub(super) use calls::{HeldCalls, tool_calls};
pub use fields::UNCHECKED;
pub(super) use fields::bounded_error;
pub(super) use wire::{Event, Part, Seen};

use super::AnswerTooLong;

/// The most choices of an answer, as OpenAI has it.
pub const MAX_CHOICES: usize = 128;

/// The most bytes of tool calls that are held until they can be checked. An answer with more is blocked.
pub const MAX_HELD_CALL_BYTES: usize = 4 << 20;

/// The finish reason of a choice whose tool calls are removed, as OpenAI has it.
pub(super) const CONTENT_FILTER: &str = "content_filter";

/// Why an answer cannot be sent any further. The texts do not quote the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unchecked {
    /// An event has bytes that are not UTF-8.
    #[error("an event of its stream is not UTF-8, so it cannot be checked")]
    NotText,
    /// An event has more than one `data:` line, which no OpenAI-compatible server sends.
    #[error("an event of its stream has several data lines, so it cannot be checked")]
    SeveralLines,
    /// The data of an event is not a part of an answer in OpenAI's format.
    #[error("an event of its stream has an unknown form, so it cannot be checked")]
    Form,
    /// The answer has more than [`MAX_CHOICES`] choices.
    #[error("the answer has more than {MAX_CHOICES} choices")]
    TooManyChoices,
    /// The text of a choice is too long.
    #[error(transparent)]
    TooLong(#[from] AnswerTooLong),
}

impl Unchecked {
    /// A short name for a metric's label.
    pub fn kind(self) -> &'static str {
        match self {
            Self::NotText => "not_text",
            Self::SeveralLines => "several_lines",
            Self::Form => "form",
            Self::TooManyChoices => "too_many_choices",
            Self::TooLong(_) => "too_long",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_name() {
        let reasons = [
            Unchecked::NotText,
            Unchecked::SeveralLines,
            Unchecked::Form,
            Unchecked::TooManyChoices,
            AnswerTooLong.into(),
        ];
        let names = ["not_text", "several_lines", "form", "too_many_choices", "too_long"];
        assert_eq!(reasons.map(Unchecked::kind), names);
    }
}

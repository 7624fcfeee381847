//! The choices of an answer that arrives.

use super::super::strict::{HeldCalls, MAX_CHOICES, Part, Unchecked};
use super::super::{AnswerTooLong, MAX_ANSWER_BYTES};

/// The choices so far.
#[derive(Debug, Default)]
pub(super) struct Open {
    choices: Vec<OpenChoice>,
    /// The bytes of tool calls that all choices hold.
    held_bytes: usize,
}

/// A choice that arrives.
#[derive(Debug, Default)]
struct OpenChoice {
    index: u64,
    text_bytes: usize,
    /// Its tool calls, which are not sent yet.
    calls: HeldCalls,
    /// Whether it has had its finish reason.
    has_ended: bool,
}

impl Open {
    /// Counts a part of the text of a choice.
    pub fn add_text(&mut self, choice: u64, text: &str) -> Result<(), Unchecked> {
        Ok(find(&mut self.choices, choice)?.add_text(text)?)
    }

    /// Adds a part of a choice, and takes the tool calls out of it. Returns all calls of the choice if the part ends it.
    /// None: it had ended before, so nothing more of it is sent.
    pub fn add(&mut self, part: &mut Part) -> Result<Option<HeldCalls>, Unchecked> {
        let choice = find(&mut self.choices, part.choice)?;
        if choice.has_ended {
            return Ok(None);
        }
        choice.add_text(part.content.as_deref().unwrap_or_default())?;
        for piece in std::mem::take(&mut part.calls) {
            choice.calls.add(piece, &mut self.held_bytes);
        }
        choice.has_ended = part.finish_reason.is_some();
        if !choice.has_ended {
            return Ok(Some(HeldCalls::default()));
        }
        let calls = std::mem::take(&mut choice.calls);
        self.held_bytes = self.held_bytes.saturating_sub(calls.bytes());
        Ok(Some(calls))
    }

    /// Takes the tool calls of the choices that have not ended.
    pub fn take_calls(&mut self) -> Vec<(u64, HeldCalls)> {
        self.held_bytes = 0;
        let waiting = self.choices.iter_mut().filter(|choice| !choice.calls.is_empty());
        waiting.map(|choice| (choice.index, std::mem::take(&mut choice.calls))).collect()
    }
}

impl OpenChoice {
    fn add_text(&mut self, text: &str) -> Result<(), AnswerTooLong> {
        self.text_bytes += text.len();
        if self.text_bytes > MAX_ANSWER_BYTES { Err(AnswerTooLong) } else { Ok(()) }
    }
}

/// A choice, which may be new.
fn find(choices: &mut Vec<OpenChoice>, index: u64) -> Result<&mut OpenChoice, Unchecked> {
    let place = match choices.iter().position(|choice| choice.index == index) {
        Some(place) => place,
        None if choices.len() == MAX_CHOICES => return Err(Unchecked::TooManyChoices),
        None => {
            choices.push(OpenChoice { index, ..OpenChoice::default() });
            choices.len() - 1
        }
    };
    choices.get_mut(place).ok_or(Unchecked::TooManyChoices)
}

//! The finished prompt: counted once more, and shortened while it is over what it may take.

use serde_json::Value;

use crate::Rejection;
use crate::budget::{Budget, INSTRUCTION_TOKENS, answer_tokens};
use crate::conversation::Conversation;
use crate::plan::Turn;
use crate::prompt::{self, Boundary};

/// A prompt that fits into the window together with the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The conversation to send.
    pub messages: Vec<Value>,
    /// How many of the blocks are in it: the first ones.
    pub blocks: usize,
    /// Its tokens.
    pub prompt_tokens: u64,
    /// The bound of the answer to send: none when the caller gave none.
    pub max_tokens: Option<u64>,
}

/// What a prompt is finished from. All numbers are tokens of the served model.
#[derive(Debug, Clone, Copy)]
pub struct Unfinished<'a> {
    /// The conversation.
    pub conversation: &'a Conversation,
    /// Its messages as they were sent.
    pub sent: &'a [Value],
    /// Its question and history.
    pub turn: &'a Turn,
    /// The model's context window.
    pub window: u64,
    /// The conversation without context.
    pub conversation_tokens: u64,
    /// The division of the window.
    pub budget: &'a Budget,
    /// What the lines around the blocks carry.
    pub boundary: &'a Boundary,
}

/// The prompt without any block: what the tokens of the blocks are added to, where they add up.
pub fn without_blocks(given: &Unfinished<'_>) -> Vec<Value> {
    prompt::messages(given.conversation, given.sent, given.turn, &prompt::context(given.boundary, &[]))
}

/// Writes the prompt and counts it once more: `count` is given the conversation and how many blocks are in it. While it is over the conversation, our instructions and the context's budget, its last
/// block goes: tokens of parts do not add up exactly to those of the whole.
///
/// # Errors
///
/// [`Rejection::ContextWindow`] when even without blocks nothing is left for an answer.
pub fn finish(
    given: &Unfinished<'_>,
    blocks: &[String],
    count: impl Fn(&[Value], usize) -> u64,
) -> Result<Finished, Rejection> {
    let limit = given.conversation_tokens + INSTRUCTION_TOKENS + given.budget.context_tokens;
    let mut blocks = blocks;
    loop {
        let messages =
            prompt::messages(given.conversation, given.sent, given.turn, &prompt::context(given.boundary, blocks));
        let prompt_tokens = count(&messages, blocks.len());
        if prompt_tokens <= limit || blocks.is_empty() {
            let max_tokens = answer_tokens(given.window, prompt_tokens, given.budget.max_tokens)?;
            return Ok(Finished { messages, blocks: blocks.len(), prompt_tokens, max_tokens });
        }
        blocks = &blocks[..blocks.len() - 1];
    }
}

#[cfg(test)]
mod tests;

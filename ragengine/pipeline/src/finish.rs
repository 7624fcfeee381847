//! Writes the prompt, counts its tokens, and shortens it until it fits.

use serde_json::Value;

use crate::Rejection;
use crate::budget::{Budget, INSTRUCTION_TOKENS, answer_tokens};
use crate::conversation::Conversation;
use crate::plan::Turn;
use crate::prompt::{self, Boundary};
use crate::request::ContextFormat;

/// A prompt that fits into the window together with the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedPrompt {
    /// The messages to send.
    pub messages: Vec<Value>,
    /// The number of blocks in the prompt. They are the first ones of the given blocks.
    pub blocks: usize,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// The bound for the answer, in tokens. `None` when the caller gave no bound.
    pub max_tokens: Option<u64>,
}

/// Input of [`finish`]. Tokens are those of the served model.
#[derive(Debug, Clone, Copy)]
pub struct PromptInput<'a> {
    /// The conversation.
    pub conversation: &'a Conversation,
    /// The messages of the conversation as JSON values.
    pub sent: &'a [Value],
    /// The question and the history of the conversation.
    pub turn: &'a Turn,
    /// The model's context window, in tokens.
    pub window: u64,
    /// Tokens of the conversation without context.
    pub conversation_tokens: u64,
    /// The division of the window.
    pub budget: &'a Budget,
    /// The lines around the blocks.
    pub boundary: &'a Boundary,
    /// The form of the blocks.
    pub format: ContextFormat,
    /// The part with earlier interactions, see [`prompt::interactions`]. It stands after the blocks.
    pub interactions: Option<&'a str>,
}

/// The prompt without blocks. If token counts are additive, its count plus those of the blocks is that of the prompt.
pub fn without_blocks(input: &PromptInput<'_>) -> Vec<Value> {
    messages(input, Some(&[]))
}

/// The messages with these blocks. None: without the instructions for blocks, too.
fn messages(input: &PromptInput<'_>, blocks: Option<&[String]>) -> Vec<Value> {
    let passages = blocks.map(|blocks| prompt::context(input.boundary, input.format, blocks));
    let parts: Vec<&str> = passages.as_deref().into_iter().chain(input.interactions).collect();
    prompt::messages(input.conversation, input.sent, input.turn, &parts.join("\n\n"))
}

/// Writes the prompt and counts its tokens with `count`, which gets the messages and the number of blocks in them.
///
/// Removes the last block while the prompt exceeds the conversation, the instructions and the budget of the context
/// together. That can happen because the tokens of the parts do not add up exactly to those of the prompt.
///
/// # Errors
///
/// [`Rejection::ContextWindow`] when the prompt leaves no token for an answer, even without blocks.
pub fn finish(
    input: &PromptInput<'_>,
    blocks: &[String],
    count: impl Fn(&[Value], usize) -> u64,
) -> Result<FinishedPrompt, Rejection> {
    let limit = input.conversation_tokens + INSTRUCTION_TOKENS + input.budget.context_tokens;
    let mut blocks = blocks;
    loop {
        // The instructions for blocks are left out if there are only interactions.
        let has_passages = !blocks.is_empty() || input.interactions.is_none();
        let messages = messages(input, has_passages.then_some(blocks));
        let prompt_tokens = count(&messages, blocks.len());
        if prompt_tokens <= limit || blocks.is_empty() {
            let max_tokens = answer_tokens(input.window, prompt_tokens, input.budget.max_tokens)?;
            return Ok(FinishedPrompt { messages, blocks: blocks.len(), prompt_tokens, max_tokens });
        }
        blocks = &blocks[..blocks.len() - 1];
    }
}

#[cfg(test)]
mod tests;

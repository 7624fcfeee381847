//! Writes the prompt, counts its tokens, and shortens it until it fits.

use serde_json::Value;

use crate::Rejection;
use crate::budget::{Budget, INSTRUCTION_TOKENS, answer_tokens};
use crate::prompt::{self, Boundary, ConversationInput};
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
    pub conversation: ConversationInput<'a>,
    /// The question that needs no history, if the language model gets it.
    pub standalone_question: Option<&'a str>,
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
    let question = input.standalone_question.map(prompt::standalone_question);
    let parts: Vec<&str> =
        passages.as_deref().into_iter().chain(input.interactions).chain(question.as_deref()).collect();
    prompt::messages(input.conversation, &parts.join("\n\n"))
}

/// Writes the prompt and counts its tokens with `count`, which gets the messages and the number of blocks in them.
///
/// Removes the last block while the prompt exceeds the conversation, the instructions and the budget of the context
/// together. That can happen because the tokens of the parts do not add up exactly to those of the prompt. Without
/// blocks, the standalone question goes if it leaves no token for an answer: the conversation alone may leave some.
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
    let (mut input, mut blocks) = (*input, blocks);
    loop {
        // Without blocks, the instructions for them are left out.
        let messages = messages(&input, (!blocks.is_empty()).then_some(blocks));
        let prompt_tokens = count(&messages, blocks.len());
        if prompt_tokens > limit && !blocks.is_empty() {
            blocks = &blocks[..blocks.len() - 1];
            continue;
        }
        match answer_tokens(input.window, prompt_tokens, input.budget.max_tokens) {
            Ok(max_tokens) => return Ok(FinishedPrompt { messages, blocks: blocks.len(), prompt_tokens, max_tokens }),
            Err(_) if blocks.is_empty() && input.standalone_question.is_some() => input.standalone_question = None,
            Err(rejection) => return Err(rejection),
        }
    }
}

#[cfg(test)]
mod tests;

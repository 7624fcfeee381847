//! Divides the context window between the conversation, the retrieved context and the answer.

use crate::Rejection;

/// Tokens reserved for the instructions before the context and the boundary lines around it.
pub const INSTRUCTION_TOKENS: u64 = 150;

/// Input of [`budget`]. Tokens are those of the served model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetInput {
    /// The model's context window, in tokens.
    pub window: u64,
    /// Tokens of all messages of the request, with the model's chat template.
    pub conversation: u64,
    /// The caller's bound for the answer, in tokens.
    pub max_tokens: Option<u64>,
    /// The share of the tokens left that the context may use, 0.2 to 0.8.
    pub context_token_ratio: f64,
    /// The minimum number of chunks to retrieve.
    pub min_top_k: usize,
    /// The assumed tokens of a chunk, for computing `top_k`.
    pub tokens_per_chunk: u64,
}

/// The division of the context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The bound for the answer, in tokens: at most the window minus the conversation.
    pub max_tokens: Option<u64>,
    /// The caller's bound, when it was more than `max_tokens`.
    pub lowered_from: Option<u64>,
    /// The number of chunks to retrieve.
    pub top_k: usize,
    /// The maximum tokens of the context.
    pub context_tokens: u64,
    /// Tokens left for the answer. Only for reports: the language model gets `max_tokens`.
    pub response_tokens: u64,
}

/// Divides the window: the conversation and the instructions take their tokens, and of the rest, or of `max_tokens` if
/// that is less, the context gets its share. A bound that does not fit is lowered.
///
/// # Errors
///
/// [`Rejection::ContextWindow`] when the conversation does not fit, or leaves no token for an answer.
pub fn budget(input: &BudgetInput) -> Result<Budget, Rejection> {
    let space =
        input.window.checked_sub(input.conversation).filter(|space| *space > 0).ok_or(Rejection::ContextWindow)?;
    let max_tokens = input.max_tokens.map(|tokens| tokens.min(space));
    let available = space.saturating_sub(INSTRUCTION_TOKENS).min(max_tokens.unwrap_or(input.window));
    let context_tokens = part(available, input.context_token_ratio);
    Ok(Budget {
        lowered_from: input.max_tokens.filter(|tokens| *tokens > space),
        max_tokens,
        top_k: top_k(input, space),
        context_tokens,
        response_tokens: available - context_tokens,
    })
}

/// Input of [`shares`] and [`history_tokens`]. Tokens are those of the served model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// The model's context window, in tokens.
    pub window: u64,
    /// The share of the window that earlier messages may use.
    pub history_ratio: f64,
    /// The maximum of the context.
    pub context: Limit,
    /// What is kept free for the answer.
    pub answer: Limit,
    /// The bound for the answer that the language model gets, in tokens.
    pub max_tokens: Option<u64>,
}

/// A part of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A share of it.
    Ratio(f64),
    /// A number of tokens.
    Tokens(u64),
}

impl Limit {
    fn tokens(self, window: u64) -> u64 {
        match self {
            Self::Ratio(ratio) => part(window, ratio),
            Self::Tokens(tokens) => tokens,
        }
    }
}

/// The maximum tokens of the history, given those of the question.
pub fn history_tokens(shares: &Shares, question: u64) -> u64 {
    let left = shares.window.saturating_sub(question + INSTRUCTION_TOKENS + shares.answer.tokens(shares.window));
    part(shares.window, shares.history_ratio).min(left)
}

/// Divides the window by fixed shares. `conversation` are the tokens of the question and the history.
///
/// # Errors
///
/// [`Rejection::ContextWindow`] when the conversation leaves no token for an answer.
pub fn shares(shares: &Shares, conversation: u64, top_k: usize) -> Result<Budget, Rejection> {
    let space = shares.window.checked_sub(conversation).filter(|space| *space > 0).ok_or(Rejection::ContextWindow)?;
    let left = space.saturating_sub(INSTRUCTION_TOKENS + shares.answer.tokens(shares.window));
    let context_tokens = shares.context.tokens(shares.window).min(left);
    Ok(Budget {
        max_tokens: shares.max_tokens.map(|tokens| tokens.min(space)),
        lowered_from: shares.max_tokens.filter(|tokens| *tokens > space),
        top_k,
        context_tokens,
        response_tokens: space.saturating_sub(INSTRUCTION_TOKENS + context_tokens),
    })
}

/// The maximum number of chunks to retrieve. More chunks do not improve an answer.
const MAX_TOP_K: usize = 10_000;

fn top_k(input: &BudgetInput, space: u64) -> usize {
    let fitting = usize::try_from(space / input.tokens_per_chunk.max(1)).unwrap_or(usize::MAX);
    input.min_top_k.max(fitting).min(MAX_TOP_K)
}

/// The bound for the answer that is sent with the finished prompt, in tokens. `None` when the caller gave no bound.
///
/// # Errors
///
/// [`Rejection::ContextWindow`] when the prompt leaves no token for an answer.
pub fn answer_tokens(window: u64, prompt: u64, max_tokens: Option<u64>) -> Result<Option<u64>, Rejection> {
    let left = window.checked_sub(prompt).filter(|left| *left > 0).ok_or(Rejection::ContextWindow)?;
    Ok(max_tokens.map(|tokens| tokens.min(left)))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the part of a window, which is far below 2^53, is rounded down"
)]
fn part(tokens: u64, ratio: f64) -> u64 {
    (tokens as f64 * ratio) as u64
}

#[cfg(test)]
mod tests;

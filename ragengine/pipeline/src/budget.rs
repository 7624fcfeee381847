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

/// Divides the window as in the chat completion specification ("Token Validation" and "RAG Execution").
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

/// The maximum tokens of the history, given those of the question (conversational-chat, "Token Limit").
pub fn history_tokens(shares: &Shares, question: u64) -> u64 {
    let left = shares.window.saturating_sub(question + INSTRUCTION_TOKENS + shares.answer.tokens(shares.window));
    part(shares.window, shares.history_ratio).min(left)
}

/// Divides the window by fixed shares (conversational-chat, "Token Limit"; chat-service, "Step 2"). `conversation` are
/// the tokens of the question and the history.
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
    reason = "the specification's arithmetic: int(tokens * ratio) in 64-bit floats; windows are far below 2^53"
)]
fn part(tokens: u64, ratio: f64) -> u64 {
    (tokens as f64 * ratio) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn input(window: u64, conversation: u64, max_tokens: Option<u64>, context_token_ratio: f64) -> BudgetInput {
        BudgetInput { window, conversation, max_tokens, context_token_ratio, min_top_k: 100, tokens_per_chunk: 500 }
    }

    #[test]
    fn the_example_of_the_specification() {
        let budget = budget(&input(8192, 500, Some(1000), 0.6)).unwrap();
        let expected = Budget {
            max_tokens: Some(1000),
            lowered_from: None,
            top_k: 100,
            context_tokens: 600,
            response_tokens: 400,
        };
        assert_eq!(budget, expected);
    }

    #[test]
    fn max_tokens_example_1_none_specified() {
        let budget = budget(&input(8192, 500, None, 0.5)).unwrap();
        assert_eq!((budget.max_tokens, budget.context_tokens), (None, (8192 - 500 - 150) / 2));
    }

    #[test]
    fn max_tokens_example_2_conservative() {
        assert_eq!(budget(&input(8192, 500, Some(100), 0.5)).unwrap().context_tokens, 50);
    }

    #[test]
    fn max_tokens_example_3_excessive() {
        let budget = budget(&input(8192, 500, Some(8000), 0.5)).unwrap();
        assert_eq!((budget.max_tokens, budget.lowered_from), (Some(7692), Some(8000)));
    }

    #[test]
    fn top_k_grows_with_the_window() {
        for (window, top_k) in [(4096, 100), (50_500, 100), (51_000, 101), (131_572, 262), (u64::MAX, 10_000)] {
            assert_eq!(budget(&input(window, 500, None, 0.5)).unwrap().top_k, top_k, "{window}");
        }
    }

    #[test]
    fn a_conversation_that_fills_the_window_is_refused() {
        assert_eq!(budget(&input(100, 101, None, 0.5)), Err(Rejection::ContextWindow));
        assert_eq!(budget(&input(100, 100, Some(1), 0.5)), Err(Rejection::ContextWindow));
        assert_eq!(budget(&input(100, 99, Some(7), 0.5)).unwrap().max_tokens, Some(1));
    }

    #[test]
    fn a_long_conversation_leaves_no_tokens_for_context() {
        assert_eq!(budget(&input(1000, 900, None, 0.8)).unwrap().context_tokens, 0);
    }

    #[test]
    fn the_answer_is_bounded_by_the_tokens_that_the_prompt_leaves() {
        assert_eq!(answer_tokens(1000, 600, Some(500)), Ok(Some(400)));
        assert_eq!(answer_tokens(1000, 600, Some(100)), Ok(Some(100)));
        assert_eq!(answer_tokens(1000, 600, None), Ok(None));
        assert_eq!(answer_tokens(1000, 1000, None), Err(Rejection::ContextWindow));
    }

    const SHARES: Shares = Shares {
        window: 131_072,
        history_ratio: 0.5,
        context: Limit::Ratio(0.4),
        answer: Limit::Ratio(0.1),
        max_tokens: None,
    };

    #[test]
    fn the_shares_of_the_specification() {
        assert_eq!(history_tokens(&SHARES, 20), 65_536);
        let budget = shares(&SHARES, 1_000, 10).unwrap();
        assert_eq!((budget.top_k, budget.max_tokens, budget.context_tokens), (10, None, 52_428));
    }

    #[test]
    fn a_small_window_is_used_in_order_of_importance() {
        let small = Shares { window: 1_000, ..SHARES };
        for (question, history) in [(0, 500), (250, 500), (251, 499), (700, 50), (750, 0), (2_000, 0)] {
            assert_eq!(history_tokens(&small, question), history, "{question}");
        }
        for (conversation, context) in [(0, 400), (350, 400), (351, 399), (749, 1), (750, 0), (999, 0)] {
            assert_eq!(shares(&small, conversation, 10).unwrap().context_tokens, context, "{conversation}");
        }
        assert_eq!(shares(&small, 1_000, 10), Err(Rejection::ContextWindow));
    }

    #[test]
    fn a_chat_keeps_tokens_free_for_the_longest_answer() {
        let chat = Shares {
            window: 8_192,
            context: Limit::Tokens(3_500),
            answer: Limit::Tokens(1_200),
            max_tokens: Some(1_200),
            ..SHARES
        };
        assert_eq!(history_tokens(&chat, 100), 4_096);
        for (window, conversation, context, max_tokens, lowered_from) in [
            (8_192, 100, 3_500, 1_200, None),
            (8_192, 4_000, 2_842, 1_200, None),
            (8_192, 7_500, 0, 692, Some(1_200)),
            (1_000, 100, 0, 900, Some(1_200)),
        ] {
            let budget = shares(&Shares { window, ..chat }, conversation, 8).unwrap();
            assert_eq!(
                (budget.context_tokens, budget.max_tokens, budget.lowered_from, budget.top_k),
                (context, Some(max_tokens), lowered_from, 8),
                "{window} {conversation}"
            );
        }
    }

    proptest! {
        #[test]
        fn shares_fit_into_the_window_together(
            window in 0_u64..200_000, question in 0_u64..200_000, history in 0_u64..200_000,
            history_ratio in 0.0..=0.8_f64, context_ratio in 0.05..=0.8_f64, answer_ratio in 0.05..=0.8_f64,
        ) {
            let (context, answer) = (Limit::Ratio(context_ratio), Limit::Ratio(answer_ratio));
            let given = Shares { window, history_ratio, context, answer, max_tokens: None };
            let conversation = question + history.min(history_tokens(&given, question));
            let Ok(budget) = shares(&given, conversation, 10) else {
                prop_assert!(conversation >= window);
                return Ok(());
            };
            let used = conversation + INSTRUCTION_TOKENS + budget.context_tokens + given.answer.tokens(window);
            prop_assert!(budget.context_tokens == 0 || used <= window);
            prop_assert!(conversation + budget.context_tokens + budget.response_tokens <= window);
        }

        #[test]
        fn the_parts_fit_into_the_window_together(
            window in 0_u64..200_000, conversation in 0_u64..200_000,
            max_tokens in proptest::option::of(1_u64..300_000), ratio in 0.2..=0.8_f64,
        ) {
            let Ok(budget) = budget(&input(window, conversation, max_tokens, ratio)) else {
                prop_assert!(conversation >= window);
                return Ok(());
            };
            let space = window - conversation;
            prop_assert!(budget.context_tokens + INSTRUCTION_TOKENS <= space.max(INSTRUCTION_TOKENS));
            prop_assert!(budget.context_tokens + budget.response_tokens <= space);
            prop_assert!(budget.max_tokens.is_none_or(|tokens| tokens <= space && tokens >= 1));
            prop_assert_eq!(budget.max_tokens.is_some(), max_tokens.is_some());
        }
    }
}

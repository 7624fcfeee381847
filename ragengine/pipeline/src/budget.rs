//! How the context window is divided between the conversation, the context and the answer.

use crate::Rejection;

/// Tokens kept for our own instructions around the context.
pub const INSTRUCTION_TOKENS: u64 = 150;

/// What the division starts from. All numbers are tokens of the served model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given {
    /// The model's context window.
    pub window: u64,
    /// All messages of the request with the model's chat template.
    pub conversation: u64,
    /// The longest answer that the caller wants.
    pub max_tokens: Option<u64>,
    /// The part of what is left that context may take, 0.2 to 0.8.
    pub context_token_ratio: f64,
    /// Chunks to look at, at least.
    pub min_top_k: usize,
    /// Tokens that a chunk is taken to have when `top_k` is reckoned.
    pub tokens_per_chunk: u64,
}

/// What comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The longest answer, never more than the window leaves beside the conversation.
    pub max_tokens: Option<u64>,
    /// What the caller had asked for, when that was more.
    pub lowered_from: Option<u64>,
    /// Chunks to look at.
    pub top_k: usize,
    /// Tokens that the context may take.
    pub context_tokens: u64,
    /// What the division leaves for the answer. It is told, never sent: `max_tokens` bounds the answer.
    pub response_tokens: u64,
}

/// Divides the window as the chat completion specification does ("Token Validation" and "RAG Execution").
///
/// # Errors
///
/// [`Rejection::ContextWindow`] when the conversation alone does not fit, or leaves nothing for an answer.
pub fn budget(given: &Given) -> Result<Budget, Rejection> {
    let space =
        given.window.checked_sub(given.conversation).filter(|space| *space > 0).ok_or(Rejection::ContextWindow)?;
    let max_tokens = given.max_tokens.map(|tokens| tokens.min(space));
    let available = space.saturating_sub(INSTRUCTION_TOKENS).min(max_tokens.unwrap_or(given.window));
    let context_tokens = part(available, given.context_token_ratio);
    Ok(Budget {
        lowered_from: given.max_tokens.filter(|tokens| *tokens > space),
        max_tokens,
        top_k: top_k(given, space),
        context_tokens,
        response_tokens: available - context_tokens,
    })
}

/// Chunks to look at, at most: a search for more answers nothing better.
const MAX_TOP_K: usize = 10_000;

fn top_k(given: &Given, space: u64) -> usize {
    let fitting = usize::try_from(space / given.tokens_per_chunk.max(1)).unwrap_or(usize::MAX);
    given.min_top_k.max(fitting).min(MAX_TOP_K)
}

/// What may be sent as the bound of the answer, once the prompt is finished: nothing when the caller gave none.
///
/// # Errors
///
/// [`Rejection::ContextWindow`] when the prompt leaves nothing for an answer.
pub fn answer_tokens(window: u64, prompt: u64, max_tokens: Option<u64>) -> Result<Option<u64>, Rejection> {
    let left = window.checked_sub(prompt).filter(|left| *left > 0).ok_or(Rejection::ContextWindow)?;
    Ok(max_tokens.map(|tokens| tokens.min(left)))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the specification's own arithmetic: int(tokens * ratio) in 64-bit floats; windows are far below 2^53"
)]
fn part(tokens: u64, ratio: f64) -> u64 {
    (tokens as f64 * ratio) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn given(window: u64, conversation: u64, max_tokens: Option<u64>, context_token_ratio: f64) -> Given {
        Given { window, conversation, max_tokens, context_token_ratio, min_top_k: 100, tokens_per_chunk: 500 }
    }

    #[test]
    fn the_worked_example() {
        let budget = budget(&given(8192, 500, Some(1000), 0.6)).unwrap();
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
        let budget = budget(&given(8192, 500, None, 0.5)).unwrap();
        assert_eq!((budget.max_tokens, budget.context_tokens), (None, (8192 - 500 - 150) / 2));
    }

    #[test]
    fn max_tokens_example_2_conservative() {
        assert_eq!(budget(&given(8192, 500, Some(100), 0.5)).unwrap().context_tokens, 50);
    }

    #[test]
    fn max_tokens_example_3_excessive() {
        let budget = budget(&given(8192, 500, Some(8000), 0.5)).unwrap();
        assert_eq!((budget.max_tokens, budget.lowered_from), (Some(7692), Some(8000)));
    }

    #[test]
    fn top_k_grows_with_the_window() {
        for (window, top_k) in [(4096, 100), (50_500, 100), (51_000, 101), (131_572, 262), (u64::MAX, 10_000)] {
            assert_eq!(budget(&given(window, 500, None, 0.5)).unwrap().top_k, top_k, "{window}");
        }
    }

    #[test]
    fn a_conversation_that_fills_the_window_is_refused() {
        assert_eq!(budget(&given(100, 101, None, 0.5)), Err(Rejection::ContextWindow));
        assert_eq!(budget(&given(100, 100, Some(1), 0.5)), Err(Rejection::ContextWindow));
        assert_eq!(budget(&given(100, 99, Some(7), 0.5)).unwrap().max_tokens, Some(1));
    }

    #[test]
    fn there_may_be_no_room_for_context() {
        assert_eq!(budget(&given(1000, 900, None, 0.8)).unwrap().context_tokens, 0);
    }

    #[test]
    fn the_answer_gets_what_the_finished_prompt_leaves() {
        assert_eq!(answer_tokens(1000, 600, Some(500)), Ok(Some(400)));
        assert_eq!(answer_tokens(1000, 600, Some(100)), Ok(Some(100)));
        assert_eq!(answer_tokens(1000, 600, None), Ok(None));
        assert_eq!(answer_tokens(1000, 1000, None), Err(Rejection::ContextWindow));
    }

    proptest! {
        #[test]
        fn nothing_is_given_twice(
            window in 0_u64..200_000, conversation in 0_u64..200_000,
            max_tokens in proptest::option::of(1_u64..300_000), ratio in 0.2..=0.8_f64,
        ) {
            let Ok(budget) = budget(&given(window, conversation, max_tokens, ratio)) else {
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

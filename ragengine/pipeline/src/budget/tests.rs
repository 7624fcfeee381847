use proptest::prelude::*;

use super::*;

fn input(window: u64, conversation: u64, max_tokens: Option<u64>, context_token_ratio: f64) -> BudgetInput {
    BudgetInput { window, conversation, max_tokens, context_token_ratio, min_top_k: 100, tokens_per_chunk: 500 }
}

#[test]
fn the_context_gets_its_share_of_a_bounded_answer() {
    let budget = budget(&input(8192, 500, Some(1000), 0.6)).unwrap();
    let expected =
        Budget { max_tokens: Some(1000), lowered_from: None, top_k: 100, context_tokens: 600, response_tokens: 400 };
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
fn a_bound_that_just_fits_is_not_lowered() {
    for (max_tokens, lowered_from) in [(7_691, None), (7_692, None), (7_693, Some(7_693))] {
        let budget = budget(&input(8192, 500, Some(max_tokens), 0.5)).unwrap();
        assert_eq!(budget.lowered_from, lowered_from, "{max_tokens}");
    }
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
fn a_large_window_is_divided_by_its_shares() {
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
    for (window, conversation, context, response, max_tokens, lowered_from) in [
        (8_192, 100, 3_500, 4_442, 1_200, None),
        (8_192, 4_000, 2_842, 1_200, 1_200, None),
        (8_192, 6_992, 0, 1_050, 1_200, None),
        (8_192, 6_993, 0, 1_049, 1_199, Some(1_200)),
        (8_192, 7_500, 0, 542, 692, Some(1_200)),
        (1_000, 100, 0, 750, 900, Some(1_200)),
    ] {
        let expected = Budget {
            max_tokens: Some(max_tokens),
            lowered_from,
            top_k: 8,
            context_tokens: context,
            response_tokens: response,
        };
        let budget = shares(&Shares { window, ..chat }, conversation, 8).unwrap();
        assert_eq!(budget, expected, "{window} {conversation}");
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

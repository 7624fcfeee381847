//! Selects the retrieved chunks that go into the prompt.

use crate::sentences::sentence_ends;

/// A retrieved chunk, as the selection sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The squared L2 distance between the chunk's vector and the question's, 0 to 4.
    pub distance: f32,
    /// Tokens of the chunk's block in the prompt. Ignored when the distance is over the threshold.
    pub tokens: u64,
    /// Whether it is nearly the same as a better one.
    pub is_duplicate: bool,
}

/// The decision about a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The chunk goes into the prompt.
    Selected,
    /// The chunk is too far from the question.
    OverThreshold,
    /// The chunk is near enough, but has more tokens than were left.
    OverBudget,
    /// The chunk is nearly the same as a better one.
    Duplicate,
}

impl Decision {
    /// All decisions.
    pub const ALL: [Self; 4] = [Self::Selected, Self::OverThreshold, Self::OverBudget, Self::Duplicate];
}

impl Decision {
    /// The value of this decision in replies and as a metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::OverThreshold => "over_threshold",
            Self::OverBudget => "over_budget",
            Self::Duplicate => "duplicate",
        }
    }
}

/// The result of [`select`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The decision about each candidate, in the order of the candidates.
    pub decisions: Vec<Decision>,
    /// Tokens of the selected chunks.
    pub used_tokens: u64,
}

impl Selection {
    /// The positions of the selected candidates, in ascending order.
    pub fn selected(&self) -> impl Iterator<Item = usize> + '_ {
        self.decisions
            .iter()
            .enumerate()
            .filter(|(_, decision)| **decision == Decision::Selected)
            .map(|(position, _)| position)
    }

    /// The number of candidates with this decision.
    pub fn count(&self, decision: Decision) -> usize {
        self.decisions.iter().filter(|made| **made == decision).count()
    }
}

/// Whether a distance is within the threshold. NaN is not.
pub fn is_near(distance: f32, max_distance: f32) -> bool {
    distance <= max_distance
}

/// Selects chunks greedily in their order. Skips a chunk that is too far from the question, or that has more tokens
/// than are left.
pub fn select(candidates: &[Candidate], max_distance: f32, context_tokens: u64) -> Selection {
    let mut left = context_tokens;
    let decisions = candidates
        .iter()
        .map(|candidate| {
            if !is_near(candidate.distance, max_distance) {
                Decision::OverThreshold
            } else if candidate.is_duplicate {
                Decision::Duplicate
            } else if candidate.tokens > left {
                Decision::OverBudget
            } else {
                left -= candidate.tokens;
                Decision::Selected
            }
        })
        .collect();
    Selection { decisions, used_tokens: context_tokens - left }
}

/// A chunk of which only the beginning goes into the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Its position among the candidates.
    pub position: usize,
    /// The tokens that its block may have.
    pub tokens: u64,
}

/// As [`select`], but the first chunk that has more tokens than are left may have all of them and is cut. It is the
/// last selected one. `cut` returns its beginning and how many tokens that has. If
/// it returns None, nothing is cut, and chunks behind it may fit.
///
/// # Errors
///
/// The errors of `cut`.
pub fn select_cutting<T, E>(
    candidates: &[Candidate],
    max_distance: f32,
    context_tokens: u64,
    cut: impl FnOnce(Cut) -> Result<Option<(T, u64)>, E>,
) -> Result<(Selection, Option<T>), E> {
    let whole = select(candidates, max_distance, context_tokens);
    let first_left_out = whole.decisions.iter().position(|decision| *decision == Decision::OverBudget);
    let Some(position) = first_left_out else { return Ok((whole, None)) };
    let Selection { mut decisions, used_tokens: before } =
        select(&candidates[..position], max_distance, context_tokens);
    let tokens = context_tokens - before;
    let beginning = if tokens == 0 { None } else { cut(Cut { position, tokens })? };
    let Some((beginning, tokens)) = beginning else { return Ok((whole, None)) };
    decisions.push(Decision::Selected);
    let rest = &candidates[position + 1..];
    decisions.extend(select(rest, max_distance, 0).decisions);
    Ok((Selection { decisions, used_tokens: before + tokens }, Some(beginning)))
}

/// The longest beginning of a text whose block has at most this many tokens. It ends behind a sentence. None if not
/// even the first sentence fits. `tokens_of` counts the block with a beginning.
pub fn beginning(text: &str, max_tokens: u64, tokens_of: impl Fn(&str) -> u64) -> Option<&str> {
    let ends = sentence_ends(text);
    // More text has more tokens, so the ends that fit come first.
    let fitting = ends.partition_point(|end| tokens_of(&text[..*end]) <= max_tokens);
    let beginning = text[..*ends.get(fitting.checked_sub(1)?)?].trim_end();
    (!beginning.is_empty()).then_some(beginning)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::Decision::*;
    use super::*;

    fn candidates(pairs: &[(f32, u64)]) -> Vec<Candidate> {
        pairs.iter().map(|&(distance, tokens)| Candidate { distance, tokens, is_duplicate: false }).collect()
    }

    /// Selects with cuts that have this share of the tokens that they may have. Of 0, there is no beginning.
    fn cutting(candidates: &[Candidate], max_distance: f32, budget: u64, percent: u64) -> (Selection, Option<Cut>) {
        let cut = |cut: Cut| Ok::<_, Infallible>((percent > 0).then_some((cut, cut.tokens * percent / 100)));
        select_cutting(candidates, max_distance, budget, cut).unwrap()
    }

    #[test]
    fn the_three_decisions() {
        for (pairs, decisions, used) in [
            (&[][..], vec![], 0),
            (&[(0.1, 300), (0.2, 300), (0.3, 1)], vec![Selected, Selected, OverBudget], 600),
            (&[(0.1, 700), (0.2, 100)], vec![OverBudget, Selected], 100),
            (&[(0.85, 10), (0.850_01, 10), (f32::NAN, 10)], vec![Selected, OverThreshold, OverThreshold], 10),
            (&[(0.9, 10), (0.1, 10)], vec![OverThreshold, Selected], 10),
            (&[(0.1, 0)], vec![Selected], 0),
        ] {
            let selection = select(&candidates(pairs), 0.85, 600);
            assert_eq!((selection.decisions, selection.used_tokens), (decisions, used), "{pairs:?}");
        }
        assert_eq!(Decision::ALL.map(Decision::label), ["selected", "over_threshold", "over_budget", "duplicate"]);
    }

    #[test]
    fn decisions_are_counted() {
        let mut candidates = candidates(&[(0.1, 300), (0.9, 10), (0.2, 300), (0.3, 1), (0.3, 2), (0.4, 9)]);
        candidates[5].is_duplicate = true;
        let selection = select(&candidates, 0.85, 600);
        assert_eq!(Decision::ALL.map(|decision| selection.count(decision)), [2, 1, 2, 1]);
    }

    #[test]
    fn a_budget_of_zero_selects_nothing() {
        assert_eq!(select(&candidates(&[(0.1, 5)]), 0.85, 0).decisions, [OverBudget]);
    }

    #[test]
    fn the_first_chunk_that_does_not_fit_is_cut() {
        for (pairs, decisions, cut) in [
            (&[(0.1, 300), (0.2, 300)][..], vec![Selected, Selected], None),
            (&[(0.1, 300), (0.2, 301), (0.3, 5)], vec![Selected, Selected, OverBudget], Some((1, 300))),
            (&[(0.1, 700)], vec![Selected], Some((0, 600))),
            (&[(0.1, 600), (0.2, 5)], vec![Selected, OverBudget], None),
            (&[(0.9, 700), (0.1, 5)], vec![OverThreshold, Selected], None),
        ] {
            let (selection, made) = cutting(&candidates(pairs), 0.85, 600, 100);
            assert_eq!(selection.decisions, decisions, "{pairs:?}");
            assert_eq!(made.map(|cut| (cut.position, cut.tokens)), cut, "{pairs:?}");
        }
    }

    #[test]
    fn a_cut_chunk_uses_the_tokens_of_its_beginning() {
        let candidates = candidates(&[(0.1, 300), (0.2, 400), (0.3, 5)]);
        for (percent, decisions, used) in [
            (100, [Selected, Selected, OverBudget], 600),
            (40, [Selected, Selected, OverBudget], 420),
            // Not even a sentence fits.
            (0, [Selected, OverBudget, Selected], 305),
        ] {
            let (selection, cut) = cutting(&candidates, 0.85, 600, percent);
            assert_eq!((&*selection.decisions, selection.used_tokens), (&decisions[..], used), "{percent}");
            assert_eq!(cut.is_some(), percent > 0);
        }
    }

    #[test]
    fn a_text_is_cut_behind_the_last_sentence_that_fits() {
        let words = |text: &str| text.split_whitespace().count() as u64;
        let text = "One two. Three four five. Six.";
        for (max_tokens, expected) in
            [(1, None), (2, Some("One two.")), (4, Some("One two.")), (5, Some("One two. Three four five."))]
        {
            assert_eq!(beginning(text, max_tokens, words), expected, "{max_tokens}");
        }
        assert_eq!(beginning("No end of a sentence", 2, words), None);
        assert_eq!(beginning("", 2, words), None);
    }

    proptest! {
        #[test]
        fn a_cut_chunk_comes_last_and_fits(
            pairs in proptest::collection::vec((0.0_f32..2.0, 0_u64..500), 0..50),
            budget in 0_u64..3000,
        ) {
            let candidates = candidates(&pairs);
            let (selection, cut) = cutting(&candidates, 1.0, budget, 100);
            prop_assert_eq!(selection.decisions.len(), candidates.len());
            prop_assert!(selection.used_tokens <= budget);
            if let Some(Cut { position, tokens }) = cut {
                prop_assert!(candidates[position].tokens > tokens);
                prop_assert!((1..=budget).contains(&tokens));
                // Blocks without tokens do not exist.
                prop_assert!(selection.selected().filter(|selected| candidates[*selected].tokens > 0).all(|selected| selected <= position));
            }
        }

        #[test]
        fn a_selection_is_near_within_the_budget_and_greedy(
            pairs in proptest::collection::vec((0.0_f32..4.0, 0_u64..500), 0..150),
            max_distance in 0.0_f32..4.0,
            budget in 0_u64..5000,
        ) {
            let candidates = candidates(&pairs);
            let selection = select(&candidates, max_distance, budget);
            prop_assert_eq!(selection.decisions.len(), candidates.len());
            let selected: Vec<usize> = selection.selected().collect();
            prop_assert!(selected.is_sorted());
            prop_assert!(selected.iter().all(|&position| candidates[position].distance <= max_distance));
            let used_tokens = selected.iter().map(|&position| candidates[position].tokens).sum::<u64>();
            prop_assert_eq!(used_tokens, selection.used_tokens);
            prop_assert!(selection.used_tokens <= budget);
            // No skipped chunk fits into the tokens that are left at the end.
            for (candidate, decision) in candidates.iter().zip(&selection.decisions) {
                if *decision == OverBudget {
                    prop_assert!(candidate.tokens > budget - selection.used_tokens);
                }
            }
        }
    }
}

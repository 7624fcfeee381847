//! The ContextSelectionProcessor: which of the chunks that were found go into the prompt.

/// What selection needs to know of a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Squared L2 distance of the stored vector from the question, 0 to 4.
    pub distance: f32,
    /// What its rendered block costs, in tokens of the served model. It is not looked at when the distance is over the threshold.
    pub tokens: u64,
}

/// What became of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It goes into the prompt.
    Selected,
    /// It is too far from the question.
    OverThreshold,
    /// It is near enough but did not fit into what was left.
    OverBudget,
}

impl Decision {
    /// The label of this decision.
    pub fn label(self) -> &'static str {
        match self {
            Self::Selected => "selected",
            Self::OverThreshold => "over_threshold",
            Self::OverBudget => "over_budget",
        }
    }
}

/// A decision for each candidate, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// As many as there were candidates.
    pub decisions: Vec<Decision>,
    /// Tokens that the selected ones take.
    pub used_tokens: u64,
}

impl Selection {
    /// Positions of the selected candidates, in their order.
    pub fn selected(&self) -> impl Iterator<Item = usize> + '_ {
        self.decisions
            .iter()
            .enumerate()
            .filter(|(_, decision)| **decision == Decision::Selected)
            .map(|(position, _)| position)
    }

    /// How many were decided so.
    pub fn count(&self, decision: Decision) -> usize {
        self.decisions.iter().filter(|made| **made == decision).count()
    }
}

/// Whether a distance passes the threshold. Not a number does not.
pub fn is_near(distance: f32, max_distance: f32) -> bool {
    distance <= max_distance
}

/// Greedy selection in the order given: what is too far is left out, what does not fit is skipped, the rest is taken until
/// the budget is used up. Specification chat-completion, "Document Selection Algorithm".
pub fn select(candidates: &[Candidate], max_distance: f32, context_tokens: u64) -> Selection {
    let mut left = context_tokens;
    let decisions = candidates
        .iter()
        .map(|candidate| {
            if !is_near(candidate.distance, max_distance) {
                Decision::OverThreshold
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Decision::*;
    use super::*;

    fn candidates(pairs: &[(f32, u64)]) -> Vec<Candidate> {
        pairs.iter().map(|&(distance, tokens)| Candidate { distance, tokens }).collect()
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
    }

    #[test]
    fn no_budget_selects_nothing() {
        assert_eq!(select(&candidates(&[(0.1, 5)]), 0.85, 0).decisions, [OverBudget]);
    }

    proptest! {
        #[test]
        fn the_invariants(
            pairs in proptest::collection::vec((0.0_f32..4.0, 0_u64..500), 0..150), max_distance in 0.0_f32..4.0, budget in 0_u64..5000,
        ) {
            let candidates = candidates(&pairs);
            let selection = select(&candidates, max_distance, budget);
            prop_assert_eq!(selection.decisions.len(), candidates.len());
            let selected: Vec<usize> = selection.selected().collect();
            prop_assert!(selected.is_sorted());
            prop_assert!(selected.iter().all(|&position| candidates[position].distance <= max_distance));
            prop_assert_eq!(selected.iter().map(|&position| candidates[position].tokens).sum::<u64>(), selection.used_tokens);
            prop_assert!(selection.used_tokens <= budget);
            // Nothing that fits at the end was left out.
            for (candidate, decision) in candidates.iter().zip(&selection.decisions) {
                if *decision == OverBudget {
                    prop_assert!(candidate.tokens > budget - selection.used_tokens);
                }
            }
        }
    }
}

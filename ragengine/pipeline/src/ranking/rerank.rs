//! Whether and how a language model orders the chunks.

mod order;
mod prompt;

pub use order::{Nonsense, order};
pub use prompt::prompt;

use super::SCORE_ERROR;
use crate::words::Words;

/// The most chunks that are sent to the language model.
pub const MAX_SENT: usize = 20;

/// The position of the score that is compared with the best one.
const THIRD: usize = 2;

/// When the chunks are ordered by a language model.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The best score minus the third is at most this.
    pub score_spread: f32,
    /// Or the question has one of these words, because similarity does not know what is newest.
    pub temporal_words: Vec<Words>,
    /// Or one of these, because an answer needs both sides.
    pub comparison_words: Vec<Words>,
}

/// Why the chunks are ordered by a language model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The best scores are close to each other.
    Spread,
    /// The question is about what is newest.
    Temporal,
    /// The question compares.
    Comparison,
    /// The settings or the request say so.
    Always,
}

impl Trigger {
    /// The value of this trigger in replies.
    pub fn label(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Temporal => "temporal",
            Self::Comparison => "comparison",
            Self::Always => "always",
        }
    }
}

/// The first trigger that holds. `scores` are those after votes, in any order. None for fewer than two chunks, which
/// have no order, and no [`Trigger::Spread`] for fewer than three.
pub fn trigger(rules: &Rules, question: &str, scores: &[f32]) -> Option<Trigger> {
    if scores.len() < 2 {
        return None;
    }
    let question = Words::of(question);
    let has_one_of = |words: &[Words]| words.iter().any(|phrase| !phrase.is_empty() && question.contain(phrase));
    if is_close(scores, rules.score_spread) {
        Some(Trigger::Spread)
    } else if has_one_of(&rules.temporal_words) {
        Some(Trigger::Temporal)
    } else if has_one_of(&rules.comparison_words) {
        Some(Trigger::Comparison)
    } else {
        None
    }
}

fn is_close(scores: &[f32], spread: f32) -> bool {
    let mut scores = scores.to_vec();
    scores.sort_unstable_by(|one, other| other.total_cmp(one));
    scores.get(THIRD).is_some_and(|third| scores[0] - third <= spread + SCORE_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let words = |phrases: &[&str]| phrases.iter().map(|phrase| Words::of(phrase)).collect();
        Rules {
            score_spread: 0.05,
            temporal_words: words(&["latest", "current", ""]),
            comparison_words: words(&["difference between", "versus"]),
        }
    }

    #[test]
    fn scores_and_words_trigger_a_rerank() {
        let apart: &[f32] = &[0.9, 0.85, 0.8];
        for (question, scores, expected) in [
            ("Who is the dean?", &[0.86, 0.84, 0.82][..], Some("spread")),
            ("Who is the dean?", &[0.90, 0.87, 0.85], Some("spread")),
            ("Who is the dean?", &[0.85, 0.90, 0.1, 0.87], Some("spread")),
            ("Who is the dean?", &[0.90, 0.87, 0.849], None),
            ("Who is the dean?", &[0.9, 0.9], None),
            ("Who is the dean?", &[], None),
            ("What is the LATEST policy?", apart, Some("temporal")),
            ("Who is the current dean?", &[0.9, 0.9], Some("temporal")),
            ("Who is the current dean?", &[0.9], None),
            ("Which currents are there?", apart, None),
            ("What is the difference between leave and absence?", apart, Some("comparison")),
            ("Difference of leave between years?", apart, None),
            ("Leave versus absence: the latest", apart, Some("temporal")),
            ("Leave versus absence", apart, Some("comparison")),
            ("The latest", &[0.5, 0.5, 0.5], Some("spread")),
        ] {
            assert_eq!(trigger(&rules(), question, scores).map(Trigger::label), expected, "{question} {scores:?}");
        }
        assert_eq!(Trigger::Always.label(), "always");
    }
}

//! Votes on answers raise and lower the scores of their chunks.

use std::collections::BTreeMap;

use super::{Ranked, best_first};

/// What one voter adds or takes away.
const UP: f64 = 0.02;
const DOWN: f64 = 0.03;

/// The bounds of what all votes together add.
const MOST_UP: f64 = 0.10;
const MOST_DOWN: f64 = -0.15;

/// An up vote for a question with at least this similarity counts twice.
const SAME_QUESTION: f32 = 0.85;

/// A vote on an answer that was given from a chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vote<'a> {
    /// Who voted.
    pub voter: &'a str,
    /// The time of the vote, in milliseconds.
    pub voted_at_ms: i64,
    /// Whether the answer was good.
    pub is_up: bool,
    /// The similarity of the question that was answered to the question now.
    pub question_similarity: f32,
}

/// What votes add to the score of a chunk, −0.15 to 0.10. Each voter counts once, by the latest vote; of several at the
/// same time, by the last one in the list.
pub fn adjustment(votes: &[Vote<'_>]) -> f32 {
    let mut latest: BTreeMap<&str, &Vote<'_>> = BTreeMap::new();
    for vote in votes {
        let of_voter = latest.entry(vote.voter).or_insert(vote);
        if vote.voted_at_ms >= of_voter.voted_at_ms {
            *of_voter = vote;
        }
    }
    let (mut ups, mut downs) = (0_u32, 0_u32);
    for vote in latest.values() {
        match vote {
            Vote { is_up: false, .. } => downs += 1,
            Vote { question_similarity, .. } if *question_similarity >= SAME_QUESTION => ups += 2,
            Vote { .. } => ups += 1,
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "a score has the digits of a similarity")]
    let adjustment = (UP * f64::from(ups) - DOWN * f64::from(downs)).clamp(MOST_DOWN, MOST_UP) as f32;
    adjustment
}

/// The chunks with what votes add to their scores, the best first. The sum may be more than 1: it only orders.
pub fn adjusted<K: Copy + Ord>(ranked: &[Ranked<K>], adjustment: impl Fn(K) -> f32) -> Vec<Ranked<K>> {
    let mut adjusted: Vec<_> =
        ranked.iter().map(|&Ranked { id, score }| Ranked { id, score: score + adjustment(id) }).collect();
    best_first(&mut adjusted);
    adjusted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vote(voter: &str, voted_at_ms: i64, is_up: bool, question_similarity: f32) -> Vote<'_> {
        Vote { voter, voted_at_ms, is_up, question_similarity }
    }

    fn ups<'a>(voters: &[&'a str]) -> Vec<Vote<'a>> {
        voters.iter().map(|voter| vote(voter, 0, true, 0.5)).collect()
    }

    #[test]
    fn five_ups_lift_the_second_chunk_to_the_first_place() {
        let ranked = [(1, 0.84), (2, 0.86), (3, 0.82)].map(|(id, score)| Ranked { id, score });
        let votes = ups(&["a", "b", "c", "d", "e"]);
        let adjusted = adjusted(&ranked, |id| if id == 1 { adjustment(&votes) } else { 0.0 });
        let written: Vec<_> = adjusted.iter().map(|ranked| format!("{} {:.6}", ranked.id, ranked.score)).collect();
        assert_eq!(written, ["1 0.940000", "2 0.860000", "3 0.820000"]);
    }

    #[test]
    fn each_voter_counts_once_by_the_latest_vote() {
        let down = |voter| vote(voter, 0, false, 0.5);
        for (votes, expected) in [
            (vec![], 0.0),
            (ups(&["a"]), 0.02),
            (ups(&["a", "a", "a"]), 0.02),
            (ups(&["a", "b", "c", "d", "e", "f"]), 0.10),
            (vec![down("a")], -0.03),
            (["a", "b", "c", "d", "e", "f"].map(down).to_vec(), -0.15),
            (vec![vote("a", 2, false, 0.5), vote("a", 1, true, 0.5), vote("b", 0, true, 0.5)], -0.01),
            (vec![vote("a", 1, false, 0.5), vote("a", 1, true, 0.5)], 0.02),
            // An up for the same question counts twice, a down does not.
            (vec![vote("a", 0, true, 0.85)], 0.04),
            (vec![vote("a", 0, true, 0.849)], 0.02),
            (vec![vote("a", 0, false, 1.0)], -0.03),
            (vec![vote("a", 0, true, 0.9), vote("b", 0, true, 0.9), vote("c", 0, true, 0.9)], 0.10),
        ] {
            assert!((adjustment(&votes) - expected).abs() < 1e-6, "{votes:?}: {}", adjustment(&votes));
        }
    }

    proptest! {
        #[test]
        fn an_adjustment_is_bounded(
            votes in proptest::collection::vec(("[a-e]", 0_i64..5, proptest::bool::ANY, 0.0_f32..=1.0), 0..40),
        ) {
            let votes: Vec<_> = votes.iter().map(|(voter, at, is_up, near)| vote(voter, *at, *is_up, *near)).collect();
            prop_assert!((-0.15..=0.10).contains(&adjustment(&votes)));
        }
    }
}

use proptest::prelude::*;

use super::*;

type Found = (u32, Option<f32>, Option<f32>);

fn candidates(found: &[Found]) -> Vec<Candidate<u32>> {
    found.iter().map(|&(id, similarity, bm25)| Candidate { id, similarity, bm25 }).collect()
}

fn assert_ranked(ranked: &[Ranked<u32>], expected: &[(u32, f32)]) {
    let is_same = |(got, &(id, score)): (&Ranked<u32>, &(u32, f32))| got.id == id && (got.score - score).abs() < 1e-6;
    assert!(ranked.len() == expected.len() && ranked.iter().zip(expected).all(is_same), "{ranked:?}: {expected:?}");
}

#[test]
fn the_weighted_sum_of_similarity_and_words() {
    let both = Weights::default();
    for (found, weights, expected) in [
        (&[][..], both, &[][..]),
        // 0.7 × 0.8 + 0.3 × 6 / 12, and so on.
        (
            &[(1, Some(0.8), Some(6.0)), (2, Some(0.6), Some(12.0)), (3, Some(0.9), None)],
            both,
            &[(2, 0.72), (1, 0.71), (3, 0.63)],
        ),
        (&[(1, Some(1.0), Some(0.1))], both, &[(1, 1.0)]),
        (&[(1, Some(-0.5), Some(3.0)), (2, Some(-0.1), None)], both, &[(1, 0.3), (2, 0.0)]),
        // No words at all, and a best score of 0.
        (&[(1, Some(0.5), None), (2, Some(0.6), None)], both, &[(2, 0.42), (1, 0.35)]),
        (&[(1, Some(0.5), Some(0.0))], both, &[(1, 0.35)]),
        (&[(1, None, Some(2.0)), (2, None, Some(4.0))], both, &[(2, 0.3), (1, 0.15)]),
        (&[(2, Some(0.5), None), (1, Some(0.5), None)], both, &[(1, 0.35), (2, 0.35)]),
        (&[(1, Some(f32::NAN), Some(f32::INFINITY)), (2, Some(0.5), Some(1.0))], both, &[(2, 0.65), (1, 0.0)]),
        (
            &[(1, Some(0.9), Some(1.0)), (2, Some(0.1), Some(4.0))],
            Weights { dense: 0.0, text: 1.0 },
            &[(2, 1.0), (1, 0.25)],
        ),
        (
            &[(1, Some(0.9), Some(1.0)), (2, Some(0.1), Some(4.0))],
            Weights { dense: 1.0, text: 0.0 },
            &[(1, 0.9), (2, 0.1)],
        ),
    ] {
        assert_ranked(&hybrid(&candidates(found), weights), expected);
    }
}

#[test]
fn reciprocal_ranks_are_parts_of_the_largest_sum() {
    let of_rank = |rank: f32| 61.0 / (60.0 + rank) / 2.0;
    for (found, expected) in [
        (&[][..], &[][..]),
        (&[(1, Some(0.9), Some(4.0)), (2, Some(0.8), None)], &[(1, 1.0), (2, of_rank(2.0))]),
        (
            &[(1, Some(0.9), Some(1.0)), (2, Some(0.8), Some(2.0)), (3, None, Some(3.0))],
            &[(1, of_rank(1.0) + of_rank(3.0)), (2, 2.0 * of_rank(2.0)), (3, of_rank(1.0))],
        ),
        // Equal values have ranks by id; a chunk that no search found is last.
        (
            &[(9, None, None), (2, Some(0.5), None), (1, Some(0.5), None)],
            &[(1, of_rank(1.0)), (2, of_rank(2.0)), (9, 0.0)],
        ),
        (&[(1, Some(f32::NAN), None), (2, Some(-0.5), None)], &[(2, of_rank(1.0)), (1, 0.0)]),
    ] {
        assert_ranked(&reciprocal_rank(&candidates(found)), expected);
    }
}

proptest! {
    #[test]
    fn scores_are_0_to_1_and_the_order_does_not_depend_on_the_input_order(
        values in proptest::collection::vec(
            (proptest::option::of(-1.0_f32..=1.0), proptest::option::of(0.0_f32..50.0)),
            0..60,
        ),
    ) {
        let found: Vec<Found> = (0..).zip(&values).map(|(id, &(similarity, bm25))| (id, similarity, bm25)).collect();
        let reversed: Vec<Found> = found.iter().rev().copied().collect();
        let weighted = |found: &[Found]| hybrid(&candidates(found), Weights::default());
        let by_rank = |found: &[Found]| reciprocal_rank(&candidates(found));
        for (ranked, again) in [(weighted(&found), weighted(&reversed)), (by_rank(&found), by_rank(&reversed))] {
            prop_assert_eq!(&ranked, &again);
            prop_assert_eq!(ranked.len(), found.len());
            prop_assert!(ranked.iter().all(|ranked| (0.0..=1.000_001).contains(&ranked.score)));
            prop_assert!(ranked.is_sorted_by(|one, next| one.score >= next.score));
        }
    }
}

use proptest::prelude::*;

use super::*;

/// A question of nine words whose answer is in the index, in other words.
const ANSWERED: Evidence = Evidence {
    nearest_distance: 0.7,
    tenth_distance: 1.0,
    background_mean: 1.72,
    background_deviation: 0.32,
    bm25_lead_share: 0.3,
    covered_share: 0.8,
    unknown_share: 0.0,
    agreement: 0.4,
    words: 9,
    chunks: 2440,
    has_document_names: true,
};

#[test]
fn a_question_gets_context_if_both_searches_speak_for_it() {
    for (case, evidence, expected) in [
        ("near, and with its words", ANSWERED, true),
        (
            "an error code alone",
            Evidence { nearest_distance: 1.1, bm25_lead_share: 1.2, covered_share: 1.0, words: 2, ..ANSWERED },
            true,
        ),
        (
            "far, and with other words",
            Evidence { nearest_distance: 1.2, bm25_lead_share: 0.1, covered_share: 0.2, agreement: 0.0, ..ANSWERED },
            false,
        ),
        (
            "near, but half of its words are unknown",
            Evidence { unknown_share: 0.6, bm25_lead_share: 0.1, covered_share: 0.3, agreement: 0.1, ..ANSWERED },
            false,
        ),
        (
            "nothing is known of it",
            Evidence { words: 9, chunks: 2440, unknown_share: 1.0, nearest_distance: 1.7, ..Evidence::default() },
            false,
        ),
        ("no evidence", Evidence::default(), false),
    ] {
        assert_eq!(evidence.is_answerable(), expected, "{case}: {}", evidence.probability());
    }
}

#[test]
fn the_model_s_scale_does_not_matter() {
    let scaled = |factor: f32| Evidence {
        nearest_distance: ANSWERED.nearest_distance * factor,
        tenth_distance: ANSWERED.tenth_distance * factor,
        background_mean: ANSWERED.background_mean * factor,
        background_deviation: ANSWERED.background_deviation * factor,
        ..ANSWERED
    };
    for factor in [0.1, 0.5, 2.0] {
        assert!((scaled(factor).probability() - ANSWERED.probability()).abs() < 1e-4, "{factor}");
    }
}

#[test]
fn the_number_of_words_tells_nothing_below_eight() {
    let worded = |words: usize| Evidence { words, ..ANSWERED }.probability();
    assert_eq!([0, 1, 7].map(worded), [8; 3].map(worded));
    assert!(worded(8) < worded(9));
}

#[test]
fn a_larger_index_than_the_fitted_one_counts_as_one_of_that_size() {
    let sized = |chunks: usize| Evidence { chunks, ..ANSWERED }.probability();
    assert_eq!((sized(2440), sized(0)), (sized(1_000_000), sized(MIN_CHUNKS)));
    assert!(sized(100) < sized(1000) && sized(1000) < sized(2440));
    // A quarter of the size multiplies the odds by 4 to the power of -0.2.
    let odds = |chunks: usize| sized(chunks) / (1.0 - sized(chunks));
    assert!((odds(610) / odds(2440) - 0.758).abs() < 0.01, "{}", odds(610) / odds(2440));
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let shares = (0.0..3.0_f32, 0.0..1.0_f32, 0.0..1.0_f32, 0.0..1.0_f32);
    ((0.0..4.0_f32, 0.0..1.0_f32, 0.0..4.0_f32, 0.0..1.0_f32), shares, (0..200_usize, 0..100_000_usize, any::<bool>()))
        .prop_map(|(distances, shares, counts)| {
            let (words, chunks, has_document_names) = counts;
            let (nearest_distance, behind, background_mean, background_deviation) = distances;
            let (bm25_lead_share, covered_share, unknown_share, agreement) = shares;
            Evidence {
                nearest_distance,
                tenth_distance: nearest_distance + behind,
                background_mean,
                background_deviation,
                bm25_lead_share,
                covered_share,
                unknown_share,
                agreement,
                words,
                chunks,
                has_document_names,
            }
        })
}

proptest! {
    #[test]
    fn better_evidence_never_lowers_the_probability(evidence in evidence(), by in 0.0..1.0_f32) {
        let before = evidence.probability();
        prop_assert!((0.0..=1.0).contains(&before), "{before}");
        for better in [
            Evidence { nearest_distance: evidence.nearest_distance - by, ..evidence },
            Evidence { tenth_distance: evidence.tenth_distance + by, ..evidence },
            Evidence { bm25_lead_share: evidence.bm25_lead_share + by, ..evidence },
            Evidence { covered_share: evidence.covered_share + by, ..evidence },
            Evidence { unknown_share: evidence.unknown_share - by, ..evidence },
            Evidence { agreement: evidence.agreement + by, ..evidence },
            Evidence { chunks: evidence.chunks * 2, ..evidence },
        ] {
            prop_assert!(better.probability() >= before, "{evidence:?} {better:?}");
        }
    }
}

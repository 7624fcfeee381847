//! Chunks that say the same as better ones: they are dropped, or come later.
//!
//! The vectors are unit vectors, so their dot product is the similarity. The work is that of comparing each chunk with
//! each chunk that is kept, so the caller bounds their number.

/// Numbers that are multiplied at once.
const LANES: usize = 8;

/// For each chunk, the better one whose duplicate it is: the first chunk that is kept and has at least this similarity
/// to it. None for chunks that are kept. The vectors are in the order of the chunks, the best first.
pub fn duplicates(vectors: &[&[f32]], min_similarity: f32) -> Vec<Option<usize>> {
    let mut kept: Vec<usize> = Vec::new();
    let duplicate_of = |(position, vector): (usize, &&[f32])| {
        let better = kept.iter().copied().find(|better| similarity(vectors[*better], vector) >= min_similarity);
        if better.is_none() {
            kept.push(position);
        }
        better
    };
    vectors.iter().enumerate().map(duplicate_of).collect()
}

/// The positions of at most `count` chunks by maximal marginal relevance: the next one has the largest `lambda * score
/// - (1 - lambda) * similarity to the nearest taken`. Of equal ones, the first is taken.
pub fn mmr(scores: &[f32], vectors: &[&[f32]], lambda: f32, count: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..scores.len().min(vectors.len())).collect();
    let mut nearest: Vec<Option<f32>> = vec![None; left.len()];
    let mut taken = Vec::new();
    while taken.len() < count {
        let value = |chunk: usize| lambda * scores[chunk] - (1.0 - lambda) * nearest[chunk].unwrap_or_default();
        // The last of equal ones is the maximum, so the order is reversed.
        let best = left.iter().enumerate().rev().max_by(|(_, one), (_, other)| value(**one).total_cmp(&value(**other)));
        let Some(best) = best.map(|(place, _)| place) else { break };
        let next = left.remove(best);
        for &chunk in &left {
            let to_next = similarity(vectors[next], vectors[chunk]);
            nearest[chunk] = Some(nearest[chunk].map_or(to_next, |before| before.max(to_next)));
        }
        taken.push(next);
    }
    taken
}

/// What stands for the score of a chunk after a language model ordered `count` chunks: 1 − rank / count. The rank of
/// the best is 0.
#[expect(clippy::cast_precision_loss, reason = "there are only hundreds of chunks")]
pub fn score_of_rank(rank: usize, count: usize) -> f32 {
    1.0 - rank as f32 / count.max(1) as f32
}

/// The dot product. Several sums, so that the processor adds them at once.
fn similarity(one: &[f32], other: &[f32]) -> f32 {
    let (one, one_rest) = one.as_chunks::<LANES>();
    let (other, other_rest) = other.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (one, other) in one.iter().zip(other) {
        for (sum, (one, other)) in sums.iter_mut().zip(one.iter().zip(other)) {
            *sum += one * other;
        }
    }
    let rest: f32 = one_rest.iter().zip(other_rest).map(|(one, other)| one * other).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A unit vector with this angle in degrees.
    fn at(degrees: f32) -> [f32; 2] {
        [degrees.to_radians().cos(), degrees.to_radians().sin()]
    }

    fn slices(vectors: &[[f32; 2]]) -> Vec<&[f32]> {
        vectors.iter().map(|vector| &vector[..]).collect()
    }

    #[test]
    fn a_duplicate_of_a_better_chunk_that_is_kept_is_dropped() {
        // The cosine of 11° is 0.9816, that of 12° is 0.9781.
        for (angles, expected) in [
            (&[][..], vec![]),
            (&[0.0], vec![None]),
            (&[0.0, 0.0, 90.0], vec![None, Some(0), None]),
            (&[0.0, 11.0, 12.0], vec![None, Some(0), None]),
            // The third is near the second, which is dropped already.
            (&[0.0, 10.0, 20.0], vec![None, Some(0), None]),
            (&[0.0, 20.0, 10.0], vec![None, None, Some(0)]),
            (&[0.0, 180.0], vec![None, None]),
        ] {
            let vectors: Vec<_> = angles.iter().map(|degrees| at(*degrees)).collect();
            assert_eq!(duplicates(&slices(&vectors), 0.98), expected, "{angles:?}");
        }
        assert_eq!(duplicates(&[&[], &[]], 0.98), [None, None], "Chunks without a vector are kept.");
    }

    #[test]
    fn the_next_chunk_is_relevant_and_unlike_those_taken() {
        let vectors = [at(0.0), at(5.0), at(90.0), at(180.0)];
        let scores = [0.9, 0.89, 0.6, 0.5];
        for (lambda, count, expected) in [
            (1.0, 4, &[0, 1, 2, 3][..]),
            // Opposite chunks gain from their distance.
            (0.7, 4, &[0, 3, 2, 1]),
            (0.9, 4, &[0, 1, 3, 2]),
            (0.7, 2, &[0, 3]),
            (0.7, 0, &[]),
            (0.7, 9, &[0, 3, 2, 1]),
        ] {
            assert_eq!(mmr(&scores, &slices(&vectors), lambda, count), expected, "{lambda} {count}");
        }
        assert_eq!(mmr(&[0.5, 0.5, 0.5], &slices(&[at(0.0); 3]), 0.7, 3), [0, 1, 2]);
        // 0.5 × 0.8 − 0.5 × 0.4 = 0.2 is less than 0.5 × 0.5 = 0.25.
        assert_eq!(mmr(&[1.0, 0.8, 0.5], &slices(&[at(0.0), at(66.4), at(90.0)]), 0.5, 3), [0, 2, 1]);
        assert_eq!(mmr(&[], &[], 0.7, 3), [0; 0]);
    }

    #[test]
    fn a_rank_is_a_score() {
        for (rank, count, score) in [(0, 4, 1.0), (1, 4, 0.75), (3, 4, 0.25), (0, 0, 1.0)] {
            assert!((score_of_rank(rank, count) - score).abs() < 1e-6, "{rank} of {count}");
        }
    }

    #[test]
    fn all_values_of_long_vectors_count() {
        for length in [0_u8, 1, 7, 8, 9, 16, 19] {
            let vector: Vec<f32> = (1..=length).map(f32::from).collect();
            let expected: f32 = vector.iter().map(|value| value * value).sum();
            assert!((similarity(&vector, &vector) - expected).abs() < 1e-3, "{length}");
        }
    }

    proptest! {
        #[test]
        fn kept_chunks_are_unlike_each_other_and_mmr_takes_each_once(
            angles in proptest::collection::vec(0.0_f32..360.0, 0..60),
            lambda in 0.0_f32..=1.0,
        ) {
            let vectors: Vec<_> = angles.iter().map(|degrees| at(*degrees)).collect();
            let vectors = slices(&vectors);
            let duplicates = duplicates(&vectors, 0.98);
            for (position, duplicate) in duplicates.iter().enumerate() {
                match duplicate {
                    Some(better) => {
                        prop_assert!(*better < position && duplicates[*better].is_none());
                        prop_assert!(similarity(vectors[*better], vectors[position]) >= 0.98);
                    }
                    None => prop_assert!((0..position).filter(|better| duplicates[*better].is_none())
                        .all(|better| similarity(vectors[better], vectors[position]) < 0.98)),
                }
            }
            let mut taken = mmr(&angles, &vectors, lambda, vectors.len());
            taken.sort_unstable();
            prop_assert_eq!(taken, (0..vectors.len()).collect::<Vec<_>>());
        }
    }
}

//! Newer documents first among chunks of similar scores.
//!
//! Comparing two chunks at a time, by date if their scores differ by less than 0.02, and else by score, is no order:
//! one chunk can be similar to two that are not similar to each other. So chunks form groups.

use std::cmp::Reverse;

use jiff::civil::Date;

use super::{Ranked, SCORE_ERROR, best_first};

/// Scores that are less than this below the best of their group are similar.
const SIMILAR: f32 = 0.02;

/// The chunks in groups of similar scores, the best group first. In a group, the chunks of newer documents come first,
/// and those of documents without a date last; then by score and id.
pub fn newest_first<K: Copy + Ord>(ranked: &[Ranked<K>], day: impl Fn(K) -> Option<Date>) -> Vec<Ranked<K>> {
    let mut sorted = ranked.to_vec();
    best_first(&mut sorted);
    let groups = groups(sorted.iter().map(|ranked| ranked.score));
    let mut dated: Vec<_> =
        groups.into_iter().zip(sorted).map(|(group, ranked)| (group, Reverse(day(ranked.id)), ranked)).collect();
    // The sort is stable, so it keeps the order by score and id.
    dated.sort_by_key(|(group, day, _)| (*group, *day));
    dated.into_iter().map(|(_, _, ranked)| ranked).collect()
}

/// The number of the group of each score. The scores are sorted, the best first.
pub(crate) fn groups(scores: impl Iterator<Item = f32>) -> Vec<usize> {
    let mut best: Option<f32> = None;
    let mut group = 0;
    let number_of = |score: f32| {
        if let Some(of_group) = best
            && !is_similar(of_group, score)
        {
            (best, group) = (Some(score), group + 1);
        }
        best.get_or_insert(score);
        group
    };
    scores.map(number_of).collect()
}

fn is_similar(best: f32, score: f32) -> bool {
    best - score < SIMILAR - SCORE_ERROR
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    fn order(chunks: &[(u32, f32, i16)]) -> Vec<u32> {
        let ranked: Vec<_> = chunks.iter().map(|&(id, score, _)| Ranked { id, score }).collect();
        let year_of = |id| chunks.iter().find(|chunk| chunk.0 == id).map_or(0, |chunk| chunk.2);
        let day = |id| Some(year_of(id)).filter(|year| *year > 0).map(|year| date(year, 1, 1));
        newest_first(&ranked, day).into_iter().map(|ranked| ranked.id).collect()
    }

    #[test]
    fn newer_documents_come_first_in_groups_of_similar_scores() {
        for (chunks, expected) in [
            (&[][..], &[][..]),
            (&[(1, 0.80, 2024), (2, 0.79, 2025)], &[2, 1]),
            (&[(1, 0.85, 2020), (2, 0.80, 2025)], &[1, 2]),
            // A difference of exactly 0.02 is not less than 0.02, whatever the rounding.
            (&[(1, 0.90, 2020), (2, 0.88, 2025)], &[1, 2]),
            (&[(1, 0.86, 2020), (2, 0.84, 2025)], &[1, 2]),
            (&[(1, 0.12, 2020), (2, 0.10, 2025)], &[1, 2]),
            (&[(1, SIMILAR - SCORE_ERROR, 2020), (2, 0.0, 2025)], &[1, 2]),
            (&[(1, 0.90, 2020), (2, 0.8801, 2025)], &[2, 1]),
            // The third is similar to the second, but not to the best of their group.
            (&[(1, 0.90, 2020), (2, 0.885, 2022), (3, 0.87, 2025)], &[2, 1, 3]),
            (&[(1, 0.90, 0), (2, 0.89, 2001), (3, 0.895, 2001), (4, 0.899, 0)], &[3, 2, 1, 4]),
            (&[(2, 0.5, 2001), (1, 0.5, 2001), (4, 0.5, 0), (3, 0.5, 0)], &[1, 2, 3, 4]),
        ] {
            assert_eq!(order(chunks), expected, "{chunks:?}");
        }
    }

    proptest! {
        #[test]
        fn no_chunk_passes_one_that_is_better_by_more_than_the_limit(
            values in proptest::collection::vec((0.0_f32..0.2, 0_i16..4), 0..50),
        ) {
            let chunks: Vec<(u32, f32, i16)> =
                (0..).zip(&values).map(|(id, &(score, year))| (id, score, year * 2000)).collect();
            let order = order(&chunks);
            let score_of = |id: &u32| chunks[*id as usize].1;
            for (position, id) in order.iter().enumerate() {
                prop_assert!(order[position..].iter().all(|later| score_of(later) < score_of(id) + SIMILAR));
            }
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..).take(chunks.len()).collect::<Vec<_>>());
            let reversed: Vec<_> = chunks.iter().rev().copied().collect();
            prop_assert_eq!(super::tests::order(&reversed), order);
        }
    }
}

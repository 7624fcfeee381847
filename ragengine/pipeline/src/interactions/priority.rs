//! The order of interactions: by similarity, and of similar ones the newer and the better rated first.

use std::cmp::Reverse;

use jiff::civil::Date;

use crate::ranking::recency::groups;

/// The share of a provider without votes.
const UNKNOWN_SHARE: f32 = 0.5;

/// What decides the place of an interaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Priority<K> {
    /// The interaction.
    pub id: K,
    /// The similarity of its question to the question now.
    pub similarity: f32,
    /// The day on which it was kept.
    pub day: Option<Date>,
    /// The share of up votes of its provider, 0 to 1: see [`up_share`].
    pub up_share: f32,
}

/// The interactions in the order in which they are used: by similarity in groups of less than 0.02; in a group, the
/// newer day first; then the provider with the larger share of up votes; then by similarity and id.
pub fn prioritised<K: Copy + Ord>(interactions: &[Priority<K>]) -> Vec<K> {
    let mut sorted = interactions.to_vec();
    sorted.sort_by(|one, other| other.similarity.total_cmp(&one.similarity).then_with(|| one.id.cmp(&other.id)));
    let groups = groups(sorted.iter().map(|interaction| interaction.similarity));
    let mut grouped: Vec<_> = groups.into_iter().zip(sorted).collect();
    // The sort is stable, so it keeps the order by similarity and id.
    grouped.sort_by(|(group, one), (other_group, other)| {
        let by_day = (group, Reverse(one.day)).cmp(&(other_group, Reverse(other.day)));
        by_day.then_with(|| other.up_share.total_cmp(&one.up_share))
    });
    grouped.into_iter().map(|(_, interaction)| interaction.id).collect()
}

/// The share of up votes. 0.5 without votes.
#[expect(clippy::cast_precision_loss, reason = "a share needs only a few digits")]
pub fn up_share(ups: u64, downs: u64) -> f32 {
    let votes = ups as f32 + downs as f32;
    if votes > 0.0 { ups as f32 / votes } else { UNKNOWN_SHARE }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn similarity_then_day_then_votes() {
        for (interactions, expected) in [
            (&[][..], &[][..]),
            (&[(1, 0.8, 1, 0.5), (2, 0.9, 1, 0.5)], &[2, 1]),
            (&[(1, 0.90, 1, 1.0), (2, 0.89, 2, 0.0)], &[2, 1]),
            (&[(1, 0.90, 1, 1.0), (2, 0.88, 2, 0.0)], &[1, 2]),
            (&[(1, 0.90, 1, 0.5), (2, 0.89, 1, 0.6)], &[2, 1]),
            (&[(1, 0.90, 0, 0.5), (2, 0.89, 1, 0.1)], &[2, 1]),
            (&[(2, 0.90, 1, 0.5), (1, 0.90, 1, 0.5), (3, 0.895, 1, 0.5)], &[1, 2, 3]),
        ] {
            let interactions: Vec<_> = interactions
                .iter()
                .map(|&(id, similarity, day, up_share)| {
                    let day = (day > 0).then(|| date(2026, 5, day));
                    Priority { id, similarity, day, up_share }
                })
                .collect();
            assert_eq!(prioritised(&interactions), expected, "{interactions:?}");
        }
    }

    #[test]
    fn a_provider_without_votes_is_in_the_middle() {
        for (ups, downs, expected) in [(0, 0, 0.5), (3, 1, 0.75), (1, 0, 1.0), (0, 2, 0.0)] {
            assert!((up_share(ups, downs) - expected).abs() < 1e-6, "{ups} {downs}");
        }
    }
}

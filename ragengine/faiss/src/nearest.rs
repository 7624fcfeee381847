//! Selects the `k` nearest of a stream of rows.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A row returned by a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor {
    /// The row's position, from 0, in the order of adding.
    pub position: usize,
    /// The squared L2 distance to the query; lower is nearer.
    pub distance: f32,
}

impl Neighbor {
    /// Orders by distance, ties by position.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.position.cmp(&other.position))
    }
}

/// Keeps the `k` nearest of the offered rows.
pub(crate) struct Nearest {
    k: usize,
    farthest_first: BinaryHeap<Ranked>,
}

impl Nearest {
    pub(crate) fn new(k: usize) -> Self {
        Self { k, farthest_first: BinaryHeap::with_capacity(k) }
    }

    pub(crate) fn offer(&mut self, neighbor: Neighbor) {
        if self.farthest_first.len() < self.k {
            self.farthest_first.push(Ranked(neighbor));
        } else if let Some(mut farthest) = self.farthest_first.peek_mut()
            && neighbor.order(&farthest.0).is_lt()
        {
            farthest.0 = neighbor;
        }
    }

    pub(crate) fn into_sorted(self) -> Vec<Neighbor> {
        self.farthest_first.into_sorted_vec().into_iter().map(|ranked| ranked.0).collect()
    }
}

struct Ranked(Neighbor);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Few different distances, so that ties occur.
        #[test]
        fn it_keeps_the_same_rows_as_a_sort(distances in prop::collection::vec(0_u8..6, 0..60), k in 0_usize..20) {
            let all: Vec<Neighbor> = distances
                .iter()
                .enumerate()
                .map(|(position, &distance)| Neighbor { position, distance: f32::from(distance) })
                .collect();
            let mut nearest = Nearest::new(k);
            all.iter().rev().for_each(|&neighbor| nearest.offer(neighbor));
            let mut expected = all;
            expected.sort_by(Neighbor::order);
            expected.truncate(k);
            prop_assert_eq!(nearest.into_sorted(), expected);
        }
    }
}

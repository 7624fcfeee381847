use super::Found;

/// The results of a search, best first, without what they are made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    found: Vec<Found>,
}

impl From<Vec<Found>> for Results {
    fn from(found: Vec<Found>) -> Self {
        Self { found }
    }
}

impl Results {
    /// The number of results.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Whether there are no results.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The squared L2 distances of the results, in order.
    pub fn distances(&self) -> impl Iterator<Item = f32> {
        self.found.iter().map(|found| found.distance)
    }

    /// The results, in order.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// The results at these positions, in the given order.
    pub fn at(&self, positions: impl IntoIterator<Item = usize>) -> Vec<Found> {
        positions.into_iter().map(|position| self.found[position]).collect()
    }

    /// The first results, at most `most`.
    pub fn first(&self, most: usize) -> &[Found] {
        &self.found[..self.found.len().min(most)]
    }

    /// Puts the results in another order: the positions in `order`. Others are dropped.
    pub fn reorder(&mut self, order: &[usize]) {
        self.found = self.at(order.iter().copied());
    }

    /// Adds what votes give to the scores of the first results, in order. The order of the results stays.
    pub fn adjust(&mut self, adjustments: &[f32]) {
        for (found, adjustment) in self.found.iter_mut().zip(adjustments) {
            found.adjustment = *adjustment;
            found.score += adjustment;
        }
    }

    /// Marks the result at a position as nearly the same as a better one.
    pub fn mark_duplicate(&mut self, position: usize) {
        self.found[position].is_duplicate = true;
    }

    /// Keeps the first `k` results that are no duplicates.
    pub fn keep_unique(&mut self, k: usize) {
        self.found.retain(|found| !found.is_duplicate);
        self.found.truncate(k);
    }

    /// Keeps the first `k` results that are no duplicates, and the duplicates before the last of them. If some of the
    /// `k` are farther than `max_distance`, the next ones within it are kept as well, until there are `k` of those.
    pub fn keep_best(&mut self, k: usize, max_distance: f32) {
        let (mut unique, mut near) = (0, 0);
        self.found.retain(|found| {
            let (is_unique, is_near) = (!found.is_duplicate, found.distance <= max_distance);
            let is_kept = unique < k || (is_unique && is_near && near < k);
            unique += usize::from(is_unique && is_kept);
            near += usize::from(is_unique && is_near && is_kept);
            is_kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Found, Hit};
    use super::Results;

    /// Results at these distances. A negative distance is that of a duplicate.
    fn results(distances: &[f32]) -> Results {
        let rows = (0..).zip(distances);
        let found = rows.map(|(row, distance)| Found {
            is_duplicate: *distance < 0.0,
            ..Found::from(Hit { row, distance: distance.abs() })
        });
        found.collect::<Vec<_>>().into()
    }

    #[test]
    fn far_results_take_no_place_of_near_ones() {
        for (distances, k, max_distance, kept) in [
            (&[0.1, 0.2, 0.3][..], 2, 0.85, &[0, 1][..]),
            (&[0.1, 0.2], 5, 0.85, &[0, 1]),
            (&[0.95, 0.96, 0.8, 0.97, 0.7, 0.6], 2, 0.85, &[0, 1, 2, 4]),
            (&[0.95, 0.8, 0.96, 0.7], 2, 0.85, &[0, 1, 3]),
            (&[0.95, 0.96, 0.97], 2, 0.85, &[0, 1]),
            (&[0.95, 0.96, 0.1], 2, f32::INFINITY, &[0, 1]),
            // Duplicates do not count, and are kept before the last one only.
            (&[0.1, -0.1, 0.2, -0.2, 0.3], 2, 0.85, &[0, 1, 2]),
            (&[0.95, -0.1, 0.96, -0.1, 0.3], 2, 0.85, &[0, 1, 2, 4]),
            (&[0.1], 0, 0.85, &[]),
        ] {
            let mut results = results(distances);
            results.keep_best(k, max_distance);
            let rows: Vec<u64> = results.found().iter().map(|found| found.row).collect();
            assert_eq!(rows, kept, "{distances:?} {k}");
        }
    }
}

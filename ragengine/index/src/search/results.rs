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

    /// Keeps the first `k` results that are no duplicates, and the duplicates before the last of them.
    pub fn keep_best(&mut self, k: usize) {
        let mut unique = self.found.iter().enumerate().filter(|(_, found)| !found.is_duplicate);
        let end = unique.nth(k).map_or(self.found.len(), |(position, _)| position);
        self.found.truncate(end);
    }
}

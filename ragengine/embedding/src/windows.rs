//! The vectors of a question: one, or for a long question one for each window.

/// The vectors of a question, of equal dimensions and length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    first: Vec<f32>,
    others: Vec<Vec<f32>>,
}

impl From<Vec<f32>> for Windows {
    fn from(vector: Vec<f32>) -> Self {
        Self { first: vector, others: Vec::new() }
    }
}

impl Windows {
    /// Creates the windows in order. None if `vectors` is empty or their dimensions differ.
    pub fn new(vectors: Vec<Vec<f32>>) -> Option<Self> {
        let mut vectors = vectors.into_iter();
        let first = vectors.next()?;
        let others: Vec<_> = vectors.collect();
        let is_alike = others.iter().all(|other| other.len() == first.len());
        is_alike.then_some(Self { first, others })
    }

    /// The vector of the first window, or of the whole question.
    pub fn first(&self) -> &[f32] {
        &self.first
    }

    /// The vectors of the other windows.
    pub fn others(&self) -> &[Vec<f32>] {
        &self.others
    }

    /// All vectors, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[f32]> {
        [&self.first].into_iter().chain(&self.others).map(Vec::as_slice)
    }

    /// Number of windows, at least 1.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The mean of all vectors, normalised, for uses that need a single vector. If the vectors cancel each other out,
    /// it is the first.
    pub fn mean(&self) -> Vec<f32> {
        let mut mean = self.first.clone();
        for other in &self.others {
            mean.iter_mut().zip(other).for_each(|(sum, value)| *sum += value);
        }
        let length = mean.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if length < f64::from(f32::EPSILON) {
            return self.first.clone();
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 1")]
        mean.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        mean
    }

    /// The cosine similarity of the nearest window to a vector of length 1. None if the dimensions differ, because the
    /// vector is then from another model.
    pub fn similarity(&self, vector: &[f32]) -> Option<f32> {
        let cosine = |window: &[f32]| -> f32 { window.iter().zip(vector).map(|(left, right)| left * right).sum() };
        let is_alike = self.iter().all(|window| window.len() == vector.len());
        is_alike.then(|| self.iter().map(cosine).fold(f32::NEG_INFINITY, f32::max))
    }

    /// The squared L2 distance of the nearest window to a vector of length 1. None as for [`Self::similarity`].
    pub fn squared_distance(&self, vector: &[f32]) -> Option<f32> {
        let distance =
            |window: &[f32]| -> f32 { window.iter().zip(vector).map(|(left, right)| (left - right).powi(2)).sum() };
        let is_alike = self.iter().all(|window| window.len() == vector.len());
        is_alike.then(|| self.iter().map(distance).fold(f32::INFINITY, f32::min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_window_counts_and_other_dimensions_are_refused() {
        let windows = Windows::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]]).unwrap();
        assert_eq!((windows.count(), windows.similarity(&[0.6, 0.8])), (2, Some(0.8)));
        let distance = windows.squared_distance(&[0.6, 0.8]).unwrap();
        assert!((distance - 0.4).abs() < 1e-6, "{distance}");
        for other in [vec![], vec![1.0], vec![1.0, 0.0, 0.0]] {
            assert_eq!((windows.similarity(&other), windows.squared_distance(&other)), (None, None));
        }
        for none in [vec![], vec![vec![1.0, 0.0], vec![1.0]], vec![vec![1.0], vec![0.6, 0.8]], vec![vec![1.0], vec![]]]
        {
            assert_eq!(Windows::new(none), None);
        }
    }

    #[test]
    fn the_mean_has_length_one() {
        let mean = Windows::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]]).unwrap().mean();
        assert!(mean.iter().all(|value| (value - 0.5_f32.sqrt()).abs() < 1e-6), "{mean:?}");
        assert_eq!(Windows::from(vec![0.6, 0.8]).mean(), [0.6, 0.8]);
        let opposite = Windows::new(vec![vec![1.0, 0.0], vec![-1.0, 0.0]]).unwrap();
        assert_eq!(opposite.mean(), [1.0, 0.0]);
    }
}

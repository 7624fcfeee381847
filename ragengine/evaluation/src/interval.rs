//! Means and shares with 95% confidence intervals.

use crate::metrics::as_f64;

/// Samples that are drawn for an interval.
const RESAMPLES: usize = 1_000;

/// Fixed, so that the same figures always have the same interval.
const SEED: u64 = 0x7261_6765;

/// The quantile of the normal distribution for a 95% interval.
const Z: f64 = 1.959_963_984_540_054;

/// A figure with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean or the share.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The mean with its bootstrap interval: the middle 95% of the means of 1,000 samples that are drawn with replacement.
/// None without values.
pub fn mean(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() {
        return None;
    }
    let mean = average(values.iter().copied(), values.len());
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut draw = || values.get(random.usize(..values.len())).copied().unwrap_or_default();
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| average((0..values.len()).map(|_| draw()), values.len())).collect();
    means.sort_by(f64::total_cmp);
    let at = |position: usize| means.get(position).copied().unwrap_or(mean);
    // Rounding may put the end of a very narrow interval on the wrong side of the mean.
    Some(Estimate { mean, low: at(RESAMPLES / 40).min(mean), high: at(RESAMPLES - 1 - RESAMPLES / 40).max(mean) })
}

/// A share with Wilson's interval, which also holds near 0 and 1. None of nothing.
pub fn share(part: usize, whole: usize) -> Option<Estimate> {
    if whole == 0 {
        return None;
    }
    let (n, p) = (as_f64(whole), as_f64(part) / as_f64(whole));
    let scale = 1.0 + Z * Z / n;
    let middle = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(Estimate { mean: p, low: (middle - half).clamp(0.0, p), high: (middle + half).clamp(p, 1.0) })
}

fn average(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / as_f64(count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_interval_of_equal_values_is_that_value() {
        assert_eq!(mean(&[0.5; 20]), Some(Estimate { mean: 0.5, low: 0.5, high: 0.5 }));
        assert_eq!((mean(&[]), share(0, 0)), (None, None));
    }

    #[test]
    fn the_interval_of_the_mean_is_about_two_standard_errors_wide() {
        // Half zeros, half ones: the standard error of the mean of 400 values is 0.5 / 20 = 0.025.
        let values: Vec<f64> = (0..400).map(|index| f64::from(index % 2)).collect();
        let estimate = mean(&values).unwrap();
        assert!((estimate.mean - 0.5).abs() < 1e-9);
        assert!((estimate.low - 0.451).abs() < 0.01 && (estimate.high - 0.549).abs() < 0.01, "{estimate:?}");
        assert_eq!(mean(&values), Some(estimate));
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // By hand, of 8 in 10: z² = 3.8415, middle = (0.8 + 0.19207) / 1.38415 = 0.71674,
        // half = 1.95996 / 1.38415 × √(0.016 + 0.0096036) = 0.22657.
        let estimate = share(8, 10).unwrap();
        assert!((estimate.low - 0.4902).abs() < 1e-3 && (estimate.high - 0.9433).abs() < 1e-3, "{estimate:?}");
        let none = share(0, 50).unwrap();
        assert!(none.low == 0.0 && (none.high - 0.0713).abs() < 1e-3, "{none:?}");
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_mean(values in prop::collection::vec(0.0..=1.0, 1..40)) {
            let estimate = mean(&values).unwrap();
            prop_assert!(estimate.low <= estimate.mean && estimate.mean <= estimate.high);
            prop_assert!(estimate.low >= 0.0 && estimate.high <= 1.0 + 1e-9);
        }

        #[test]
        fn the_interval_contains_the_share(whole in 1..500_usize, part in 0..500_usize) {
            let estimate = share(part.min(whole), whole).unwrap();
            prop_assert!(0.0 <= estimate.low && estimate.low <= estimate.mean);
            prop_assert!(estimate.mean <= estimate.high && estimate.high <= 1.0);
        }
    }
}

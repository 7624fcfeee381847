//! Medians and percentiles.

/// The percentile `fraction` (0 to 1) by the nearest-rank method. 0 for an empty list.
pub fn percentile(values: &[f64], fraction: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (fraction * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}

/// The middle value, or the mean of the two middle values. 0 for an empty list.
pub fn median(values: &[f64]) -> f64 {
    let upper = percentile(values, (values.len() / 2 + 1) as f64 / values.len().max(1) as f64);
    match values.len() % 2 {
        0 => f64::midpoint(percentile(values, 0.5), upper),
        _ => upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_list() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let cases = [(0.0, 1.0), (0.01, 1.0), (0.5, 50.0), (0.99, 99.0), (1.0, 100.0)];
        for (fraction, expected) in cases {
            assert_eq!(percentile(&hundred, fraction), expected, "{fraction}");
        }
        assert_eq!(percentile(&[7.0], 0.99), 7.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_two() {
        let cases: [(&[f64], f64); 5] =
            [(&[], 0.0), (&[4.0], 4.0), (&[9.0, 1.0], 5.0), (&[9.0, 1.0, 2.0], 2.0), (&[1.0, 9.0, 3.0, 2.0], 2.5)];
        for (values, expected) in cases {
            assert_eq!(median(values), expected, "{values:?}");
        }
    }
}

//! Combines the vectors of a text's tokens into one vector.

use crate::profile::Pooling;

/// Pools the first `tokens` rows of `hidden` (`padded length × width`, row-major). The rows after them are padding.
///
/// `tokens` is at least 1 and `hidden` at least `tokens × width` long.
pub(super) fn pool(pooling: Pooling, hidden: &[f32], tokens: usize, width: usize) -> Vec<f32> {
    let mut rows = hidden.chunks_exact(width).take(tokens);
    match pooling {
        Pooling::Cls => rows.next().unwrap_or_default().to_vec(),
        Pooling::LastToken => rows.next_back().unwrap_or_default().to_vec(),
        Pooling::Max => fold(rows, width, f32::NEG_INFINITY, f32::max),
        // The sum suffices, because the vector is normalised later.
        Pooling::Mean => fold(rows, width, 0.0, |sum, value| sum + value),
    }
}

fn fold<'a>(
    rows: impl Iterator<Item = &'a [f32]>,
    width: usize,
    start: f32,
    combine: impl Fn(f32, f32) -> f32,
) -> Vec<f32> {
    let mut pooled = vec![start; width];
    for row in rows {
        for (value, &next) in pooled.iter_mut().zip(row) {
            *value = combine(*value, next);
        }
    }
    pooled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_ignored() {
        let hidden = [1.0, -2.0, 3.0, 4.0, 900.0, 900.0];
        let cases = [
            (Pooling::Mean, vec![4.0, 2.0]),
            (Pooling::Cls, vec![1.0, -2.0]),
            (Pooling::Max, vec![3.0, 4.0]),
            (Pooling::LastToken, vec![3.0, 4.0]),
        ];
        for (pooling, expected) in cases {
            assert_eq!(pool(pooling, &hidden, 2, 2), expected, "{pooling}");
        }
    }
}

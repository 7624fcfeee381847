//! Checks vectors before they are passed to FAISS, which checks nothing: a NaN would make a graph search loop forever.

use crate::error::Error;

/// Maximum squared norm of a vector. The squared distance of two vectors is at most twice the sum of their squared
/// norms, so that no distance overflows.
const MAX_SQUARED_NORM: f64 = f32::MAX as f64 / 4.0;

/// Checks row-major values and returns the number of rows.
pub(crate) fn check_rows(values: &[f32], dimensions: usize) -> Result<usize, Error> {
    if !values.len().is_multiple_of(dimensions) {
        return Err(Error::Length { values: values.len(), expected: "whole rows", dimensions });
    }
    match values.chunks_exact(dimensions).position(|row| !is_usable(row)) {
        Some(row) => Err(Error::NotFinite { row }),
        None => Ok(values.len() / dimensions),
    }
}

/// Checks one query.
pub(crate) fn check_query(query: &[f32], dimensions: usize) -> Result<(), Error> {
    if query.len() != dimensions {
        return Err(Error::Length { values: query.len(), expected: "one query", dimensions });
    }
    if is_usable(query) { Ok(()) } else { Err(Error::NotFinite { row: 0 }) }
}

/// Computed in f64, where the sum of finite f32 squares cannot overflow. NaN and infinity fail the comparison.
fn is_usable(vector: &[f32]) -> bool {
    let squared_norm: f64 = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum();
    squared_norm <= MAX_SQUARED_NORM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_values_are_found_in_every_place() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, 1e19, -1e19] {
            for place in 0..12 {
                let mut values = [0.5_f32; 12];
                values[place] = bad;
                assert!(
                    matches!(check_rows(&values, 4), Err(Error::NotFinite { row }) if row == place / 4),
                    "{bad} at {place}"
                );
                assert!(matches!(check_query(&values, 12), Err(Error::NotFinite { row: 0 })), "{bad} at {place}");
            }
        }
    }

    #[test]
    fn a_norm_may_overflow_even_if_no_value_is_too_large() {
        assert!(check_query(&[9e18], 1).is_ok());
        assert!(matches!(check_query(&[9e18, 9e18], 2), Err(Error::NotFinite { row: 0 })));
    }

    #[test]
    fn the_largest_accepted_vectors_have_a_finite_distance() {
        let largest = MAX_SQUARED_NORM.sqrt() as f32 * 0.999_999;
        assert!(check_query(&[largest], 1).is_ok());
        assert!(((largest - -largest) * (largest - -largest)).is_finite());
    }

    #[test]
    fn lengths_are_checked() {
        assert_eq!(check_rows(&[], 3).unwrap(), 0);
        assert_eq!(check_rows(&[0.0; 6], 3).unwrap(), 2);
        assert!(matches!(check_rows(&[0.0; 7], 3), Err(Error::Length { values: 7, dimensions: 3, .. })));
        assert!(check_query(&[0.0; 3], 3).is_ok());
        for values in [0, 2, 6] {
            assert!(matches!(check_query(&vec![0.0; values], 3), Err(Error::Length { .. })), "{values}");
        }
    }
}

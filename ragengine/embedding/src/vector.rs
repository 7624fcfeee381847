//! Vectors and their normalisation.

/// An embedding: finite values, length 1, as many dimensions as the model's output.
pub type Vector = Vec<f32>;

/// Why a vector cannot be normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("it has a value that is not a finite number")]
    NotFinite,
    #[error("all of its values are zero")]
    Zero,
}

/// Scales `values` to length 1 (L2).
///
/// The sum is computed in f64, because squares of large f32 values overflow.
pub(crate) fn normalise(values: &mut [f32]) -> Result<(), Unusable> {
    let norm = values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    if !norm.is_finite() {
        return Err(Unusable::NotFinite);
    }
    if norm == 0.0 {
        return Err(Unusable::Zero);
    }
    for value in values {
        *value = (f64::from(*value) / norm) as f32;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Unusable, normalise};
    use proptest::prelude::*;

    #[test]
    fn a_vector_without_direction_is_refused() {
        let cases = [
            (vec![0.0, 0.0], Unusable::Zero),
            (vec![], Unusable::Zero),
            (vec![1.0, f32::NAN], Unusable::NotFinite),
            (vec![f32::INFINITY, 1.0], Unusable::NotFinite),
        ];
        for (mut values, expected) in cases {
            assert_eq!(normalise(&mut values), Err(expected));
        }
    }

    proptest! {
        #[test]
        fn the_length_is_one_and_the_direction_is_kept(
            mut values in prop::collection::vec(prop::num::f32::NORMAL, 1..50),
        ) {
            let before = values.clone();
            prop_assert_eq!(normalise(&mut values), Ok(()));
            let length: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
            prop_assert!((length - 1.0).abs() < 1e-5, "length {}", length);
            prop_assert!(before.iter().zip(&values).all(|(b, a)| *a == 0.0 || b.signum() == a.signum()));
        }
    }
}

//! Vectors in bytes: 32-bit floats, little endian.

/// The bytes of a vector.
pub(crate) fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The vector of these bytes. An incomplete last number is left out.
pub(crate) fn decode<V: FromIterator<f32>>(bytes: &[u8]) -> V {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

/// Separate sums let the compiler use vector instructions.
const LANES: usize = 8;

/// The similarity of a normalised vector to one in bytes: their dot product. None if they have other dimensions, or if
/// it is not a number.
pub(crate) fn similarity(vector: &[f32], bytes: &[u8]) -> Option<f32> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if numbers.len() != vector.len() || !rest.is_empty() {
        return None;
    }
    let mut sums = [0.0_f32; LANES];
    for (vector, numbers) in vector.chunks(LANES).zip(numbers.chunks(LANES)) {
        for ((sum, value), bytes) in sums.iter_mut().zip(vector).zip(numbers) {
            *sum += value * f32::from_le_bytes(*bytes);
        }
    }
    let similarity: f32 = sums.iter().sum();
    similarity.is_finite().then_some(similarity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_survives_its_bytes() {
        let vector = vec![0.5, -1.25, f32::MIN_POSITIVE];
        assert_eq!(encode(&vector)[..4], [0, 0, 0, 0x3f]);
        assert_eq!(decode::<Vec<f32>>(&encode(&vector)), vector);
        assert_eq!(decode::<Vec<f32>>(&encode(&vector)[..11]), vector[..2]);
    }

    #[test]
    fn a_similarity_is_the_dot_product() {
        #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
        let vector: Vec<f32> = (0..19).map(|number| number as f32).collect();
        let expected: f32 = vector.iter().map(|value| value * value).sum();
        assert_eq!(similarity(&vector, &encode(&vector)), Some(expected));
        assert_eq!(similarity(&[], &[]), Some(0.0));
        for (vector, bytes) in [(&[1.0][..], encode(&[1.0, 2.0])), (&[1.0], vec![0; 5]), (&[1.0], encode(&[f32::NAN]))]
        {
            assert_eq!(similarity(vector, &bytes), None, "{vector:?} {bytes:?}");
        }
    }
}

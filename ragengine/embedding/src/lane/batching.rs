//! Groups texts into batches.
//!
//! The cost of a batch is texts × longest text, so that texts of similar length belong together. Lengths are in bytes:
//! within a request they are roughly proportional to tokens, and need no tokenising.

/// Shorter texts count as this long (about a dozen tokens), because a batch of shorter ones costs nearly the same.
const SHORT_BYTES: usize = 64;

/// The limits of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Maximum number of texts.
    pub max_texts: usize,
    /// Maximum of texts × longest text, in bytes. Bounds a worker's memory for models that read thousands of tokens.
    pub max_padded_bytes: usize,
}

/// The size of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    texts: usize,
    shortest_bytes: usize,
    longest_bytes: usize,
}

impl Extent {
    /// The extent of texts with these lengths in bytes.
    pub fn of(lengths: impl IntoIterator<Item = usize>) -> Self {
        let mut extent = Self { texts: 0, shortest_bytes: usize::MAX, longest_bytes: 0 };
        for length in lengths {
            let length = length.max(SHORT_BYTES);
            extent.texts += 1;
            extent.shortest_bytes = extent.shortest_bytes.min(length);
            extent.longest_bytes = extent.longest_bytes.max(length);
        }
        extent
    }

    /// The extent of both together.
    pub fn with(self, other: Self) -> Self {
        Self {
            texts: self.texts + other.texts,
            shortest_bytes: self.shortest_bytes.min(other.shortest_bytes),
            longest_bytes: self.longest_bytes.max(other.longest_bytes),
        }
    }

    /// Whether the batch is within the limits, and at most a third of it is padding.
    pub fn fits(self, limits: Limits) -> bool {
        self.texts <= limits.max_texts
            && self.texts.saturating_mul(self.longest_bytes) <= limits.max_padded_bytes
            && 2 * self.longest_bytes <= 3 * self.shortest_bytes
    }
}

/// Splits a request into batches of positions, longest texts first, which keeps the threads busy to the end. A text
/// that exceeds the limits gets a separate batch.
pub(crate) fn cut(lengths: &[usize], limits: Limits) -> Vec<Vec<usize>> {
    let mut positions: Vec<usize> = (0..lengths.len()).collect();
    positions.sort_by_key(|&position| std::cmp::Reverse(lengths[position]));
    let mut batches: Vec<(Vec<usize>, Extent)> = Vec::new();
    for position in positions {
        let extent = Extent::of([lengths[position]]);
        match batches.last_mut() {
            Some((batch, so_far)) if so_far.with(extent).fits(limits) => {
                batch.push(position);
                *so_far = so_far.with(extent);
            }
            _ => batches.push((vec![position], extent)),
        }
    }
    batches.into_iter().map(|(batch, _)| batch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn similar_lengths_run_together() {
        let limits = Limits { max_texts: 3, max_padded_bytes: 3000 };
        let cases = [
            (vec![], vec![]),
            (vec![1000, 10, 900, 20], vec![vec![0, 2], vec![3, 1]]),
            (vec![5, 5, 5, 5], vec![vec![0, 1, 2], vec![3]]),
            (vec![100, 151], vec![vec![1], vec![0]]),
            (vec![1400, 1500, 1450], vec![vec![1, 2], vec![0]]),
            (vec![999_999], vec![vec![0]]),
        ];
        for (lengths, expected) in cases {
            assert_eq!(cut(&lengths, limits), expected, "{lengths:?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_in_one_batch_within_the_limits(
            lengths in prop::collection::vec(0_usize..5000, 0..60),
            max_texts in 1_usize..9,
            max_padded_bytes in 1_usize..20_000,
        ) {
            let limits = Limits { max_texts, max_padded_bytes };
            let batches = cut(&lengths, limits);
            for batch in &batches {
                let extent = Extent::of(batch.iter().map(|&position| lengths[position]));
                prop_assert!(batch.len() == 1 || extent.fits(limits));
            }
            let mut all: Vec<usize> = batches.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
        }
    }
}

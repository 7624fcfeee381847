//! The expected contents of an index and the expected results of a search.

use std::collections::BTreeMap;

use fastrand::Rng;

/// Dimensions of the vectors.
pub const WIDTH: usize = 24;

/// A document's pages, each of which is one chunk.
pub type Pages = Vec<String>;

/// A writer's documents in an index, by id.
pub type Documents = BTreeMap<String, Pages>;

/// A pseudo-random unit vector that depends only on the text.
pub fn vector(text: &str) -> Vec<f32> {
    let seed = text.bytes().fold(5381_u64, |hash, byte| hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
    let mut random = Rng::with_seed(seed);
    let values: Vec<f32> = (0..WIDTH).map(|_| random.f32() - 0.5).collect();
    let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / length).collect()
}

/// The text of a document with these pages, separated by form feeds.
pub fn text(pages: &[String]) -> String {
    pages.join("\u{C}")
}

/// The cosine similarity of the vectors of two texts.
pub fn similarity(left: &str, right: &str) -> f32 {
    vector(left).iter().zip(vector(right)).map(|(left, right)| left * right).sum()
}

/// The similarities of the `k` pages nearest to a text, the nearest first.
pub fn nearest<'a>(documents: impl IntoIterator<Item = &'a Documents>, query: &str, k: usize) -> Vec<f32> {
    let pages = documents.into_iter().flat_map(|documents| documents.values().flatten());
    let mut similarities: Vec<f32> = pages.map(|page| similarity(query, page)).collect();
    similarities.sort_by(|left, right| right.total_cmp(left));
    similarities.truncate(k);
    similarities
}

/// How many of the expected results searches found. Graph searches are approximate and may miss some.
#[derive(Debug, Default, Clone, Copy)]
pub struct Recall {
    pub expected: usize,
    pub found: usize,
}

impl Recall {
    pub fn add(&mut self, other: Self) {
        self.expected += other.expected;
        self.found += other.found;
    }

    /// Panics if the recall is below the documented 95%.
    pub fn check(self, what: &str) {
        assert!(self.found as f64 >= 0.95 * self.expected as f64, "{what}: {self:?}");
    }
}

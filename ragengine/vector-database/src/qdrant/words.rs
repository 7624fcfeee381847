//! Words as sparse vectors, whose products are BM25 scores.
//!
//! An object has for each word the part of BM25 that depends on the object: how often the word is in it, and how long
//! it is. Qdrant multiplies it by the word's inverse document frequency. The length is compared with a fixed one,
//! because the average changes with every write; chunks are about equally long, so this matters little.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

/// The constants of BM25, which are tantivy's.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The words of a usual chunk, without stop words.
const USUAL_WORDS: f32 = 100.0;

/// The dimensions and values of the words of an object, by dimension.
pub fn of_object(words: &str) -> (Vec<u32>, Vec<f32>) {
    let mut counts: BTreeMap<u32, u16> = BTreeMap::new();
    for word in words.split_whitespace() {
        let count = counts.entry(dimension(word)).or_default();
        *count = count.saturating_add(1);
    }
    let total: f32 = counts.values().map(|count| f32::from(*count)).sum();
    let norm = K1 * (1.0 - B + B * total / USUAL_WORDS);
    let value = |count: u16| f32::from(count) * (K1 + 1.0) / (f32::from(count) + norm);
    counts.into_iter().map(|(dimension, count)| (dimension, value(count))).unzip()
}

/// The dimensions and values of a query: each word counts once.
pub fn of_query(words: &str) -> (Vec<u32>, Vec<f32>) {
    let mut dimensions: Vec<u32> = words.split_whitespace().map(dimension).collect();
    dimensions.sort_unstable();
    dimensions.dedup();
    let values = vec![1.0; dimensions.len()];
    (dimensions, values)
}

/// The different words.
pub fn distinct(words: &str) -> Vec<&str> {
    let mut distinct: Vec<&str> = words.split_whitespace().collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// The dimension of a word: a hash. Two words of a query have the same one once in four billion pairs.
fn dimension(word: &str) -> u32 {
    let hash = Sha256::digest(word);
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_bm25() {
        let words = format!("rare {}common", "common ".repeat(98));
        let (dimensions, values) = of_object(&words);
        let value = |word: &str| values[dimensions.iter().position(|each| *each == dimension(word)).unwrap()];
        // With the usual length, the norm is K1.
        assert!((value("rare") - 2.2 / 2.2).abs() < 1e-6);
        assert!((value("common") - 99.0 * 2.2 / (99.0 + 1.2)).abs() < 1e-5);
        // In a shorter text, a word counts for more.
        assert!(of_object("rare").1[0] > value("rare"));
        assert_eq!(of_object("  "), (vec![], vec![]));
    }

    #[test]
    fn a_query_has_each_word_once_and_dimensions_stay() {
        let (dimensions, values) = of_query("b a b");
        assert_eq!((dimensions.len(), values), (2, vec![1.0, 1.0]));
        assert_eq!(dimension("policy"), dimension("policy"));
        assert_eq!(distinct("b a  b"), ["a", "b"]);
    }
}

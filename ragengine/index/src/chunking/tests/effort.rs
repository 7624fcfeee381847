//! Bounds the cost of documents per byte, in steps and in bytes whose tokens are counted.

use std::cell::Cell;

use proptest::prelude::*;

use super::documents::{kinds, measured, repeated};
use super::*;

/// The most bytes whose tokens are counted, and the most steps, per byte of a document. Prose needs 2 and 5.
const MAX_COUNTED: f64 = 24.0;
const MAX_STEPS: f64 = 160.0;
/// The fixed cost of a document.
const BASE: f64 = 65_536.0;

/// Token counters, including extreme ones: every text has at most one token, or every byte is one.
fn counts() -> [fn(&str) -> usize; 4] {
    [count, |text| text.len().div_ceil(3), |text| usize::from(!text.trim().is_empty()), |text| text.len()]
}

#[derive(Debug)]
struct Effort {
    counted: f64,
    steps: f64,
}

fn effort(text: &str, split: SplitType, max_tokens: usize, count: fn(&str) -> usize) -> Effort {
    let work = unlimited();
    let counted = Cell::new(0_usize);
    let counting = |text: &str| {
        counted.set(counted.get() + text.len());
        count(text)
    };
    super::super::cut(text, split, sizes(max_tokens, max_tokens / 10), &counting, &work).unwrap();
    let per_byte = |whole: f64| (whole - BASE) / text.len().max(1) as f64;
    Effort { counted: per_byte(counted.get() as f64), steps: per_byte(work.steps() as f64) }
}

#[test]
fn measured_documents_cost_in_proportion_to_their_size() {
    for (what, split, text) in measured(200_000) {
        for count in counts() {
            let effort = effort(&text, split, 200, count);
            assert!(effort.counted <= MAX_COUNTED && effort.steps <= MAX_STEPS, "{what}: {effort:?}");
        }
    }
}

/// Every chunk is embedded, so many tiny chunks are expensive, and none of them is meaningful.
#[test]
fn code_and_prose_are_not_cut_into_tiny_chunks() {
    const MAX_TOKENS: usize = 200;
    const MAX_TIMES: usize = 10;
    for (what, split, text) in measured(50_000) {
        if matches!(split, SplitType::Markdown | SplitType::Pages) {
            continue;
        }
        let tokens = |text: &str| text.len().div_ceil(3);
        let chunks =
            super::super::cut(&text, split, sizes(MAX_TOKENS, MAX_TOKENS / 10), &tokens, &unlimited()).unwrap();
        let least = tokens(&text).div_ceil(MAX_TOKENS);
        assert!(chunks.len() <= MAX_TIMES * least, "{what}: {} chunks instead of {least}", chunks.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// A sequence of parts, each of which repeats two fragments.
    #[test]
    fn any_document_costs_in_proportion_to_its_size(
        kind in 0..kinds().len(),
        parts in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1_usize..12_000),
            1..6,
        ),
        max_tokens in 16_usize..254,
        count in 0..counts().len(),
    ) {
        let (split, motifs) = kinds()[kind];
        let part = |(first, second, bytes): &(prop::sample::Index, prop::sample::Index, usize)| {
            repeated(&[*first.get(motifs), *second.get(motifs)].concat(), *bytes)
        };
        let text: String = parts.iter().map(part).collect();
        let effort = effort(&text, split, max_tokens, counts()[count]);
        prop_assert!(effort.counted <= MAX_COUNTED && effort.steps <= MAX_STEPS, "{effort:?}");
    }
}

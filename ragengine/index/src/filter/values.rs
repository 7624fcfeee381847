//! The values of a metadata key, in order, with the documents that have each of them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use ragengine_pipeline::filter::MetadataValue;
use roaring::RoaringTreemap;

/// The most values of a block. A block is copied as a whole when it changes while a reader uses it.
const BLOCK_VALUES: usize = if cfg!(test) { 4 } else { 512 };

/// The bounds of a range of values.
pub(super) type Bounds = (Bound<MetadataValue>, Bound<MetadataValue>);

type Block = BTreeMap<MetadataValue, Arc<RoaringTreemap>>;

/// All values of a key. They are in blocks, so that a reader of a range of them takes few pointers while it holds the
/// lock: a key may have as many values as there are documents.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// By a value that is at most the first of the block, and above all of the block before.
    blocks: BTreeMap<MetadataValue, Arc<Block>>,
}

/// A range of values, as of one moment.
#[derive(Debug, Clone)]
pub(super) struct Within {
    blocks: Vec<Arc<Block>>,
    bounds: Bounds,
}

impl Within {
    /// The documents that have each value.
    pub(super) fn documents(&self) -> impl Iterator<Item = &Arc<RoaringTreemap>> {
        self.blocks.iter().flat_map(|block| block.range(self.bounds.clone()).map(|(_, documents)| documents))
    }
}

impl Values {
    /// The documents that have a value.
    pub(super) fn get(&self, value: &MetadataValue) -> Option<&Arc<RoaringTreemap>> {
        let (_, block) = self.blocks.range::<MetadataValue, _>(..=value).next_back()?;
        block.get(value)
    }

    /// The values within bounds.
    pub(super) fn within(&self, bounds: &Bounds) -> Within {
        let (low, high) = bounds;
        let first = match low {
            Bound::Included(low) | Bound::Excluded(low) => {
                self.blocks.range::<MetadataValue, _>(..=low).next_back().map(|(first, _)| first)
            }
            Bound::Unbounded => None,
        };
        let begin = first.map_or(Bound::Unbounded, Bound::Included);
        let blocks = self.blocks.range::<MetadataValue, _>((begin, high.as_ref()));
        Within { blocks: blocks.map(|(_, block)| Arc::clone(block)).collect(), bounds: bounds.clone() }
    }

    /// Adds a document that has a value.
    pub(super) fn insert(&mut self, value: MetadataValue, document: u64) {
        if self.blocks.range::<MetadataValue, _>(..=&value).next_back().is_none() {
            // It becomes the first value of the first block.
            let (_, block) = self.blocks.pop_first().unwrap_or_else(|| (value.clone(), Arc::default()));
            self.blocks.insert(value.clone(), block);
        }
        let Some((_, block)) = self.blocks.range_mut::<MetadataValue, _>(..=&value).next_back() else { return };
        let block = Arc::make_mut(block);
        Arc::make_mut(block.entry(value).or_default()).insert(document);
        if block.len() > BLOCK_VALUES
            && let Some(middle) = block.keys().nth(block.len() / 2).cloned()
        {
            let behind = block.split_off(&middle);
            self.blocks.insert(middle, Arc::new(behind));
        }
    }

    /// Removes a document that has a value.
    pub(super) fn remove(&mut self, value: &MetadataValue, document: u64) {
        let Some((first, block)) = self.blocks.range_mut::<MetadataValue, _>(..=value).next_back() else { return };
        let block = Arc::make_mut(block);
        let Some(documents) = block.get_mut(value) else { return };
        Arc::make_mut(documents).remove(document);
        if documents.is_empty() {
            block.remove(value);
        }
        if block.is_empty() {
            let first = first.clone();
            self.blocks.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value(number: u8) -> MetadataValue {
        MetadataValue::exact(&json!(number))
    }

    /// The documents of the values within bounds, in the order of the values.
    fn documents(within: &Within) -> Vec<Vec<u64>> {
        within.documents().map(|documents| documents.iter().collect()).collect()
    }

    fn bounds() -> impl Strategy<Value = (Bound<u8>, Bound<u8>)> {
        (0_u8..40, 0_u8..40, 0..3, 0..3).prop_map(|(one, other, low_kind, high_kind)| {
            let bound = |kind, number| match kind {
                0 => Bound::Unbounded,
                1 => Bound::Included(number),
                _ => Bound::Excluded(number),
            };
            // A range that excludes one value twice is none.
            (bound(low_kind, one.min(other)), bound(high_kind, one.max(other) + 1))
        })
    }

    proptest! {
        #[test]
        fn they_are_a_map_and_readers_keep_a_state(
            before in prop::collection::vec((0_u8..40, 0_u64..3, any::<bool>()), 0..80),
            after in prop::collection::vec((0_u8..40, 0_u64..3, any::<bool>()), 0..80),
            bounds in bounds(),
        ) {
            let (mut values, mut model) = (Values::default(), BTreeMap::<u8, RoaringTreemap>::new());
            let range = (bounds.0.map(value), bounds.1.map(value));
            let mut kept = Vec::new();
            for steps in [before, after] {
                for (number, document, is_added) in steps {
                    if is_added {
                        values.insert(value(number), document);
                        model.entry(number).or_default().insert(document);
                    } else {
                        values.remove(&value(number), document);
                        model.entry(number).or_default().remove(document);
                        model.retain(|_, documents| !documents.is_empty());
                    }
                }
                let within = values.within(&range);
                let expected: Vec<Vec<u64>> =
                    model.range(bounds).map(|(_, documents)| documents.iter().collect()).collect();
                prop_assert_eq!(documents(&within), expected.clone());
                kept.push((within, expected));
                for number in 0..40 {
                    let known = values.get(&value(number)).map(|documents| (**documents).clone());
                    prop_assert_eq!(known, model.get(&number).cloned());
                }
            }
            for (within, expected) in kept {
                prop_assert_eq!(documents(&within), expected);
            }
            prop_assert!(values.blocks.values().all(|block| (1..=BLOCK_VALUES).contains(&block.len())));
        }
    }

    #[test]
    fn a_range_takes_blocks_and_not_values() {
        let mut values = Values::default();
        (0..200).for_each(|number| values.insert(value(number), u64::from(number)));
        let within = values.within(&(Bound::Included(value(100)), Bound::Unbounded));
        assert_eq!(documents(&within).len(), 100);
        assert!(within.blocks.len() <= 100 / (BLOCK_VALUES / 2) + 1, "{}", within.blocks.len());
    }
}

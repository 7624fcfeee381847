//! Which rows each document has.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use roaring::RoaringTreemap;

/// Documents whose rows are kept together, and copied together when they change under a reader.
const BLOCK_DOCUMENTS: u64 = 256;

/// Documents whose numbers follow each other, and their rows.
type Block = BTreeMap<u64, Range<u64>>;

/// The rows of each document, by its number, which is the order in which documents were added. A copy shares all that stays the same.
#[derive(Clone, Default)]
pub struct DocumentRows {
    blocks: BTreeMap<u64, Arc<Block>>,
    documents: usize,
}

impl DocumentRows {
    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.documents
    }

    /// Puts a document's rows in the place of those that it had.
    pub fn insert(&mut self, number: u64, rows: Range<u64>) {
        let block = self.blocks.entry(number / BLOCK_DOCUMENTS).or_default();
        let before = Arc::make_mut(block).insert(number, rows);
        self.documents += usize::from(before.is_none());
    }

    /// Forgets a document.
    pub fn remove(&mut self, number: u64) {
        let Some(block) = self.blocks.get_mut(&(number / BLOCK_DOCUMENTS)) else { return };
        let block_left = Arc::make_mut(block);
        self.documents -= usize::from(block_left.remove(&number).is_some());
        if block_left.is_empty() {
            self.blocks.remove(&(number / BLOCK_DOCUMENTS));
        }
    }

    /// A page of the numbers.
    pub fn page(&self, mut offset: usize, limit: usize) -> Vec<u64> {
        let mut page = Vec::new();
        for block in self.blocks.values() {
            if offset >= block.len() {
                offset -= block.len();
                continue;
            }
            page.extend(block.keys().skip(offset).take(limit - page.len()));
            offset = 0;
            if page.len() == limit {
                break;
            }
        }
        page
    }

    /// The rows of these documents, in order, as few ranges as they are.
    pub fn of(&self, numbers: &RoaringTreemap) -> Vec<Range<u64>> {
        let mut block: (u64, Option<&Block>) = (u64::MAX, None);
        let mut rows = Vec::new();
        for number in numbers {
            if block.0 != number / BLOCK_DOCUMENTS {
                block = (number / BLOCK_DOCUMENTS, self.blocks.get(&(number / BLOCK_DOCUMENTS)).map(|block| &**block));
            }
            rows.extend(block.1.and_then(|block| block.get(&number)).cloned());
        }
        joined(rows)
    }

    /// All rows, in order, as few ranges as they are.
    pub fn all(&self) -> Vec<Range<u64>> {
        joined(self.blocks.values().flat_map(|block| block.values().cloned()).collect())
    }
}

/// Sorts ranges and joins those that touch. A document that was changed has later rows than those that were added after it.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|rows| rows.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for rows in ranges.into_iter().filter(|rows| !rows.is_empty()) {
        match joined.last_mut() {
            Some(last) if last.end == rows.start => last.end = rows.end,
            _ => joined.push(rows),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u64, Range<u64>),
        Remove(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Numbers in two blocks.
        let number = || prop_oneof![0_u64..6, BLOCK_DOCUMENTS..BLOCK_DOCUMENTS + 6];
        // No two documents have the same rows.
        let change = (number(), 0_u64..4, any::<bool>());
        prop::collection::vec(change, 0..40).prop_map(|changes| {
            let mut next_row = 0;
            let mut step = |(number, count, is_removed): (u64, u64, bool)| {
                if is_removed {
                    return Step::Remove(number);
                }
                next_row += count;
                Step::Insert(number, next_row - count..next_row)
            };
            changes.into_iter().map(&mut step).collect()
        })
    }

    proptest! {
        #[test]
        fn it_is_a_map_and_a_copy_stays_as_it_was(before in steps(), after in steps()) {
            let mut rows = DocumentRows::default();
            let mut model = BTreeMap::new();
            let apply = |rows: &mut DocumentRows, model: &mut BTreeMap<u64, Range<u64>>, steps: Vec<Step>| {
                for step in steps {
                    match step {
                        Step::Insert(number, range) => {
                            rows.insert(number, range.clone());
                            model.insert(number, range);
                        }
                        Step::Remove(number) => {
                            rows.remove(number);
                            model.remove(&number);
                        }
                    }
                }
            };
            apply(&mut rows, &mut model, before);
            let (copy, model_then) = (rows.clone(), model.clone());
            let shifted = |step: Step| match step {
                Step::Insert(number, range) => Step::Insert(number, range.start + 1000..range.end + 1000),
                step => step,
            };
            apply(&mut rows, &mut model, after.into_iter().map(shifted).collect());
            for (rows, model) in [(copy, model_then), (rows, model)] {
                prop_assert_eq!(rows.len(), model.len());
                let numbers: Vec<u64> = model.keys().copied().collect();
                for offset in 0..14 {
                    let expected: Vec<u64> = numbers.iter().copied().skip(offset).take(3).collect();
                    prop_assert_eq!(rows.page(offset, 3), expected);
                }
                let every_second: RoaringTreemap = numbers.iter().copied().step_by(2).chain([5000]).collect();
                for (found, wanted) in [(rows.all(), numbers.into_iter().collect()), (rows.of(&every_second), every_second)] {
                    let mut expected: Vec<u64> = wanted.iter().filter_map(|number| model.get(&number).cloned()).flatten().collect();
                    expected.sort_unstable();
                    prop_assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", found);
                    prop_assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}

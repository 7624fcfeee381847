//! The rows of each document.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use roaring::RoaringTreemap;

/// Documents per block. A block is copied as a whole when it changes while a reader uses it.
const BLOCK_DOCUMENTS: u64 = 256;

/// Consecutive documents and their rows, sorted by number.
#[derive(Clone, Default)]
struct Block(Vec<(u64, Range<u64>)>);

impl Block {
    /// The first position from `from` on whose number is at least `number`.
    fn first_at_or_after(&self, number: u64, from: usize) -> usize {
        let Some(&(first, _)) = self.0.get(from) else { return from };
        // Numbers are distinct, so the document is at most `number - first` positions away, and exactly there if none
        // is missing.
        let distance = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let farthest = from.saturating_add(distance).min(self.0.len());
        match self.0.get(farthest) {
            Some((found, _)) if *found == number => farthest,
            _ => from + self.0[from..farthest].partition_point(|(other, _)| *other < number),
        }
    }

    /// Returns whether the document is new.
    fn insert(&mut self, number: u64, rows: Range<u64>) -> bool {
        let place = self.first_at_or_after(number, 0);
        match self.0.get_mut(place) {
            Some(known) if known.0 == number => {
                known.1 = rows;
                false
            }
            _ => {
                self.0.insert(place, (number, rows));
                true
            }
        }
    }

    /// Returns whether the document was there.
    fn remove(&mut self, number: u64) -> bool {
        let place = self.first_at_or_after(number, 0);
        let is_there = self.0.get(place).is_some_and(|(found, _)| *found == number);
        is_there.then(|| self.0.remove(place)).is_some()
    }
}

/// The rows of each document, by number, which is the order of creation. Clones share unchanged blocks.
#[derive(Clone, Default)]
pub struct DocumentRows {
    blocks: BTreeMap<u64, Arc<Block>>,
    documents: usize,
}

impl DocumentRows {
    /// The number of documents.
    pub fn len(&self) -> usize {
        self.documents
    }

    /// Sets the rows of a document.
    pub fn insert(&mut self, number: u64, rows: Range<u64>) {
        let block = self.blocks.entry(number / BLOCK_DOCUMENTS).or_default();
        self.documents += usize::from(Arc::make_mut(block).insert(number, rows));
    }

    /// Removes a document.
    pub fn remove(&mut self, number: u64) {
        let Some(block) = self.blocks.get_mut(&(number / BLOCK_DOCUMENTS)) else { return };
        let block_left = Arc::make_mut(block);
        self.documents -= usize::from(block_left.remove(number));
        if block_left.0.is_empty() {
            self.blocks.remove(&(number / BLOCK_DOCUMENTS));
        }
    }

    /// A page of the documents' numbers.
    pub fn page(&self, mut offset: usize, limit: usize) -> Vec<u64> {
        let mut page = Vec::new();
        for block in self.blocks.values() {
            if offset >= block.0.len() {
                offset -= block.0.len();
                continue;
            }
            page.extend(block.0.iter().skip(offset).take(limit - page.len()).map(|(number, _)| number));
            offset = 0;
            if page.len() == limit {
                break;
            }
        }
        page
    }

    /// The rows of these documents, in order, with adjacent ranges merged.
    pub fn of(&self, numbers: &RoaringTreemap) -> Vec<Range<u64>> {
        let mut rows = Rows::with_capacity(usize::try_from(numbers.len()).unwrap_or(0));
        let (mut place, mut block_number, mut block) = (0, u64::MAX, None);
        for number in numbers {
            if block_number != number / BLOCK_DOCUMENTS {
                block_number = number / BLOCK_DOCUMENTS;
                (place, block) = (0, self.blocks.get(&block_number));
            }
            let Some(block) = block else { continue };
            place = block.first_at_or_after(number, place);
            let found = block.0.get(place).filter(|(found, _)| *found == number);
            found.into_iter().for_each(|(_, of_document)| rows.push(of_document));
        }
        rows.in_order()
    }

    /// The rows of all documents, in order, with adjacent ranges merged.
    pub fn all(&self) -> Vec<Range<u64>> {
        let mut rows = Rows::with_capacity(self.documents);
        self.blocks.values().flat_map(|block| &block.0).for_each(|(_, of_document)| rows.push(of_document));
        rows.in_order()
    }
}

/// A list of row ranges that merges adjacent ones. Ranges usually arrive sorted and are sorted only if not: a document
/// that was changed has later rows than documents created after it.
struct Rows {
    ranges: Vec<Range<u64>>,
    is_unordered: bool,
}

impl Rows {
    fn with_capacity(ranges: usize) -> Self {
        Self { ranges: Vec::with_capacity(ranges), is_unordered: false }
    }

    fn push(&mut self, rows: &Range<u64>) {
        match self.ranges.last_mut() {
            _ if rows.is_empty() => {}
            Some(last) if last.end == rows.start => last.end = rows.end,
            last => {
                self.is_unordered |= last.is_some_and(|last| last.end > rows.start);
                self.ranges.push(rows.clone());
            }
        }
    }

    fn in_order(mut self) -> Vec<Range<u64>> {
        if !self.is_unordered {
            return self.ranges;
        }
        self.ranges.sort_unstable_by_key(|rows| rows.start);
        let mut joined = Self::with_capacity(self.ranges.len());
        self.ranges.iter().for_each(|rows| joined.push(rows));
        joined.ranges
    }
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
        // Each document has distinct rows.
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
        fn it_is_a_map_and_clones_are_independent(before in steps(), after in steps()) {
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
                let every = numbers.into_iter().collect();
                for (found, wanted) in [(rows.all(), every), (rows.of(&every_second), every_second)] {
                    let mut expected: Vec<u64> =
                        wanted.iter().filter_map(|number| model.get(&number).cloned()).flatten().collect();
                    expected.sort_unstable();
                    prop_assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", found);
                    prop_assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}

//! Which indexes have a label of their own. An index has it as long as it is there, so that those that come and go do not use them up.

use std::collections::BTreeSet;

use parking_lot::{RwLock, RwLockReadGuard};

/// Indexes that have labels of their own. The rest are summed under [`OTHER`].
const MAX_LABELLED: usize = 100;

/// The label of all other indexes.
const OTHER: &str = "other";

/// The indexes that have a label of their own.
#[derive(Default)]
pub(super) struct IndexLabels(RwLock<BTreeSet<String>>);

/// A label that nobody frees while this is held.
pub struct IndexLabel<'a> {
    label: &'a str,
    _held: RwLockReadGuard<'a, BTreeSet<String>>,
}

impl IndexLabel<'_> {
    /// The label.
    pub fn as_str(&self) -> &str {
        self.label
    }
}

impl IndexLabels {
    /// Gives an index that is there a label of its own, while there are any.
    pub fn claim(&self, name: &str) {
        if !self.0.read().contains(name) {
            let mut labelled = self.0.write();
            if labelled.len() < MAX_LABELLED {
                labelled.insert(name.to_owned());
            }
        }
    }

    /// The label of an index, which may be gone by now.
    pub fn of<'a>(&'a self, name: &'a str) -> IndexLabel<'a> {
        let held = self.0.read();
        let label = if held.contains(name) { name } else { OTHER };
        IndexLabel { label, _held: held }
    }

    /// Frees the labels of the indexes that are not there, and has their series dropped. Nobody writes to them meanwhile.
    pub fn free(&self, is_there: impl Fn(&str) -> bool, drop_series: impl Fn(&str)) {
        self.0.write().retain(|name| {
            let is_there = is_there(name);
            // Those of all others stay, even if one index has their name.
            if !is_there && name != OTHER {
                drop_series(name);
            }
            is_there
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_label_goes_to_the_next_index() {
        let labels = IndexLabels::default();
        let names: Vec<String> = (0..=MAX_LABELLED).map(|number| format!("i{number}")).collect();
        names.iter().for_each(|name| labels.claim(name));
        assert_eq!((labels.of("i0").as_str(), labels.of("i100").as_str()), ("i0", OTHER));
        labels.free(|name| name != "i0", |name| assert_eq!(name, "i0"));
        // Who still has to do with one that is gone does not bring it back.
        assert_eq!(labels.of("i0").as_str(), OTHER);
        labels.claim("i100");
        assert_eq!(labels.of("i100").as_str(), "i100");
    }

    #[test]
    fn an_index_called_other_does_not_take_the_sum_with_it() {
        let labels = IndexLabels::default();
        labels.claim(OTHER);
        labels.free(|_| false, |name| panic!("{name} is the sum of many"));
    }
}

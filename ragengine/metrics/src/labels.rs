//! Which indexes have a label of their own. An index has it as long as it is there, so that those that come and go do not use them up.

use std::collections::BTreeSet;

use parking_lot::{RwLock, RwLockReadGuard};

/// Indexes that have labels of their own. The rest are summed under [`OTHER`].
const MAX_LABELLED: usize = 100;

/// The label of all other indexes.
const OTHER: &str = "other";

/// Drops the series of one index from one metric.
pub(crate) type DropSeries = Box<dyn Fn(&str) + Send + Sync>;

/// The indexes that have a label of their own, and the metrics that have series for them.
#[derive(Default)]
pub struct IndexLabels {
    labelled: RwLock<BTreeSet<String>>,
    metrics: RwLock<Vec<DropSeries>>,
}

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
    /// A metric has series for each index.
    pub(crate) fn note_series(&self, drop_series: DropSeries) {
        self.metrics.write().push(drop_series);
    }

    /// Gives an index that is there a label of its own, while there are any.
    pub fn claim(&self, name: &str) {
        if !self.labelled.read().contains(name) {
            let mut labelled = self.labelled.write();
            if labelled.len() < MAX_LABELLED {
                labelled.insert(name.to_owned());
            }
        }
    }

    /// The label of an index: its name, or `other` when it has none of its own, or is gone by now. Hold one at a time, and briefly.
    pub fn of<'a>(&'a self, name: &'a str) -> IndexLabel<'a> {
        let held = self.labelled.read();
        let label = if held.contains(name) { name } else { OTHER };
        IndexLabel { label, _held: held }
    }

    /// The label of an index that is there, which claims one.
    pub fn of_one_there(&self, name: &str) -> String {
        self.claim(name);
        self.of(name).as_str().to_owned()
    }

    /// Frees the labels of the indexes that are not there, and drops their series. Nobody writes to them meanwhile.
    pub fn keep(&self, is_there: impl Fn(&str) -> bool) {
        let metrics = self.metrics.read();
        self.labelled.write().retain(|name| {
            let is_there = is_there(name);
            // Those of all others stay, even if one index has their name.
            if !is_there && name != OTHER {
                metrics.iter().for_each(|drop_series| drop_series(name));
            }
            is_there
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn a_freed_label_goes_to_the_next_index() {
        let labels = IndexLabels::default();
        let names: Vec<String> = (0..=MAX_LABELLED).map(|number| format!("i{number}")).collect();
        names.iter().for_each(|name| labels.claim(name));
        assert_eq!((labels.of("i0").as_str(), labels.of("i100").as_str()), ("i0", OTHER));
        let dropped = Arc::<Mutex<Vec<String>>>::default();
        let drops = Arc::clone(&dropped);
        labels.note_series(Box::new(move |name| drops.lock().push(name.to_owned())));
        labels.keep(|name| name != "i0");
        assert_eq!(*dropped.lock(), ["i0"]);
        // Who still has to do with one that is gone does not bring it back.
        assert_eq!(labels.of("i0").as_str(), OTHER);
        labels.claim("i100");
        assert_eq!(labels.of("i100").as_str(), "i100");
    }

    #[test]
    fn an_index_called_other_does_not_take_the_sum_with_it() {
        let labels = IndexLabels::default();
        labels.claim(OTHER);
        labels.note_series(Box::new(|name| panic!("{name} is the sum of many")));
        labels.keep(|_| false);
    }
}

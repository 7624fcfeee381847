//! Limits the number of `index` label values. An index keeps its label until it is deleted, so that deleted indexes do
//! not use up labels.

use std::collections::BTreeSet;

use parking_lot::{RwLock, RwLockReadGuard};

/// Maximum number of indexes with separate labels. The others are summed under [`OTHER`].
const MAX_LABELLED: usize = 100;

/// The label of all indexes without a separate label.
const OTHER: &str = "other";

/// Drops the series of one index from one metric.
pub(crate) type DropSeries = Box<dyn Fn(&str) + Send + Sync>;

/// The indexes with separate labels, and the metrics that have series for them.
#[derive(Default)]
pub struct IndexLabels {
    labelled: RwLock<BTreeSet<String>>,
    metrics: RwLock<Vec<DropSeries>>,
}

/// A label that is not freed while this value exists.
pub struct IndexLabel<'a> {
    label: &'a str,
    _held: RwLockReadGuard<'a, BTreeSet<String>>,
}

impl IndexLabel<'_> {
    /// The label's value.
    pub fn as_str(&self) -> &str {
        self.label
    }
}

impl IndexLabels {
    /// Registers a metric that has series for each index.
    pub(crate) fn register_series(&self, drop_series: DropSeries) {
        self.metrics.write().push(drop_series);
    }

    /// Gives an existing index a separate label, if fewer than 100 are in use.
    pub fn claim(&self, name: &str) {
        if !self.labelled.read().contains(name) {
            let mut labelled = self.labelled.write();
            if labelled.len() < MAX_LABELLED {
                labelled.insert(name.to_owned());
            }
        }
    }

    /// The label of an index: its name, or `other` if it has no separate label or is deleted. Holds a read lock: hold
    /// one label at a time, and briefly.
    pub fn of<'a>(&'a self, name: &'a str) -> IndexLabel<'a> {
        let held = self.labelled.read();
        let label = if held.contains(name) { name } else { OTHER };
        IndexLabel { label, _held: held }
    }

    /// Claims a label for an existing index and returns it.
    pub fn claimed(&self, name: &str) -> String {
        self.claim(name);
        self.of(name).as_str().to_owned()
    }

    /// Frees the labels of deleted indexes and removes their series. The lock excludes writers to these series.
    pub fn keep(&self, is_there: impl Fn(&str) -> bool) {
        let metrics = self.metrics.read();
        self.labelled.write().retain(|name| {
            let is_there = is_there(name);
            // The series `other` stay, even if an index has that name.
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
    fn a_freed_label_is_given_to_the_next_index() {
        let labels = IndexLabels::default();
        let names: Vec<String> = (0..=MAX_LABELLED).map(|number| format!("i{number}")).collect();
        names.iter().for_each(|name| labels.claim(name));
        assert_eq!((labels.of("i0").as_str(), labels.of("i100").as_str()), ("i0", OTHER));
        let dropped = Arc::<Mutex<Vec<String>>>::default();
        let drops = Arc::clone(&dropped);
        labels.register_series(Box::new(move |name| drops.lock().push(name.to_owned())));
        labels.keep(|name| name != "i0");
        assert_eq!(*dropped.lock(), ["i0"]);
        // Using a deleted index does not claim its label again.
        assert_eq!(labels.of("i0").as_str(), OTHER);
        labels.claim("i100");
        assert_eq!(labels.of("i100").as_str(), "i100");
    }

    #[test]
    fn deleting_an_index_named_other_keeps_the_sum() {
        let labels = IndexLabels::default();
        labels.claim(OTHER);
        labels.register_series(Box::new(|name| panic!("{name} is the sum of many")));
        labels.keep(|_| false);
    }
}

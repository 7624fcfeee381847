//! The rows that a filter allows, kept for the next search with the same filter.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use ragengine_pipeline::filter::Filter;

use crate::vectors::AllowedRows;

/// The most filters whose rows are kept. Each takes a bit for each chunk of the index, and the filter itself.
const MAX_FILTERS: usize = 16;

/// The longest filter that is kept, in bytes of its keys and texts, because a filter comes from a client.
const MAX_FILTER_BYTES: usize = 4 << 10;

/// The rows that the latest filters allow. Collecting them takes longer than a search, and callers repeat filters.
#[derive(Default)]
pub struct FilterCache(Mutex<VecDeque<Entry>>);

struct Entry {
    filter: Filter,
    /// The state of the index, see [`crate::view::View::changes`].
    changes: u64,
    allowed: Arc<AllowedRows>,
}

impl FilterCache {
    /// The rows that a filter allows in this state of the index.
    pub fn get(&self, filter: &Filter, changes: u64) -> Option<Arc<AllowedRows>> {
        let mut entries = self.0.lock();
        let place = entries.iter().position(|entry| entry.changes == changes && entry.filter == *filter)?;
        let entry = entries.remove(place)?;
        let allowed = Arc::clone(&entry.allowed);
        entries.push_front(entry);
        Some(allowed)
    }

    /// Keeps the rows, unless the filter is long. Those of earlier states are dropped.
    pub fn put(&self, filter: &Filter, changes: u64, allowed: &Arc<AllowedRows>) {
        if filter.text_bytes() > MAX_FILTER_BYTES {
            return;
        }
        let mut entries = self.0.lock();
        entries.retain(|entry| entry.changes >= changes && entry.filter != *filter);
        entries.truncate(MAX_FILTERS - 1);
        entries.push_front(Entry { filter: filter.clone(), changes, allowed: Arc::clone(allowed) });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filter(number: usize) -> Filter {
        Filter::new(json!({"number": number}).as_object().unwrap()).unwrap()
    }

    #[test]
    fn rows_are_kept_for_one_state_and_the_latest_filters() {
        let cache = FilterCache::default();
        let allowed: Vec<_> = (0..=MAX_FILTERS).map(|_| Arc::new(AllowedRows::default())).collect();
        for (number, allowed) in allowed.iter().enumerate().take(MAX_FILTERS) {
            cache.put(&filter(number), 1, allowed);
        }
        let is_kept = |number: usize, changes| {
            cache.get(&filter(number), changes).is_some_and(|found| Arc::ptr_eq(&found, &allowed[number]))
        };
        assert!(is_kept(0, 1) && !is_kept(0, 2));
        // The first one was used, so the second one goes.
        cache.put(&filter(MAX_FILTERS), 1, &allowed[MAX_FILTERS]);
        assert!(is_kept(0, 1) && !is_kept(1, 1) && is_kept(MAX_FILTERS, 1));
        cache.put(&filter(0), 2, &allowed[0]);
        assert!(is_kept(0, 2) && !is_kept(2, 1));
        let long = Filter::new(json!({"text": "x".repeat(MAX_FILTER_BYTES)}).as_object().unwrap()).unwrap();
        cache.put(&long, 2, &allowed[0]);
        assert!(cache.get(&long, 2).is_none());
    }
}

//! The Prometheus metrics of stores.

use ragengine_metrics::metrics;

use crate::StoreError;

metrics! {
    /// The Prometheus metrics of stores.
    pub struct StoreMetrics: "" {
        /// Operations of stores. `store` is `cache`, `catalogue`, `feedback`, `interactions`, `sessions` or
        /// `session_tokens`. `outcome` is `done`, `not_found`, `unavailable` (the database is out of reach, or a newer
        /// version wrote it), `timeout` (also when the caller did not wait any longer), `failed`, or `dropped` (too much
        /// waits for the store).
        store_operations_total: Counters["store", "outcome"],
        /// Look-ups in the response cache. `outcome` is `hit`, `miss`, or `failed` (its stores are out of reach or
        /// late; the answer is then made as after a miss). The hit ratio is the share of `hit`.
        pub(crate) cache_look_ups_total: Counters["outcome"],
        /// Changes of the response cache. `change` is `stored`, `too_large` (an answer is not stored for its size),
        /// `outdated` (an answer is not stored because its index was purged since it was looked up), `removed` (an
        /// answer got a down vote), `evicted` (an answer in memory made room for others), or `purged` (an index).
        pub(crate) cache_changes_total: Counters["change"],
        /// Answers of the response cache in memory.
        pub(crate) cache_entries: Gauge[],
        /// Bytes of these answers.
        pub(crate) cache_bytes: Gauge[],
    }
}

/// The outcomes of operations.
const OUTCOMES: [&str; 6] = ["done", "not_found", "unavailable", "timeout", "failed", "dropped"];

/// The outcomes of look-ups in the cache.
const LOOK_UPS: [&str; 3] = ["hit", "miss", "failed"];

/// The changes of the cache.
const CHANGES: [&str; 6] = ["stored", "too_large", "outdated", "removed", "evicted", "purged"];

impl StoreMetrics {
    /// Makes the series of a store, at zero.
    pub(crate) fn begin(&self, store: &str) {
        for outcome in OUTCOMES {
            self.store_operations_total.with_label_values(&[store, outcome]).inc_by(0);
        }
    }

    /// Counts something that was not kept because too much waits for the store.
    pub fn dropped(&self, store: &str) {
        self.count(store, "dropped");
    }

    /// Counts an operation.
    pub(crate) fn count(&self, store: &str, outcome: &str) {
        self.store_operations_total.with_label_values(&[store, outcome]).inc();
    }

    /// Makes the series of the cache, at zero.
    pub(crate) fn begin_cache(&self) {
        for outcome in LOOK_UPS {
            self.cache_look_ups_total.with_label_values(&[outcome]).inc_by(0);
        }
        for change in CHANGES {
            self.cache_changes_total.with_label_values(&[change]).inc_by(0);
        }
    }

    /// Counts a look-up in the cache.
    pub(crate) fn cache_looked_up(&self, outcome: &str) {
        self.cache_look_ups_total.with_label_values(&[outcome]).inc();
    }

    /// Counts a change of the cache.
    pub(crate) fn cache_changed(&self, change: &str) {
        self.cache_changes_total.with_label_values(&[change]).inc();
    }

    /// Counts answers that made room for others.
    pub(crate) fn cache_evicted(&self, answers: usize) {
        self.cache_changes_total.with_label_values(&["evicted"]).inc_by(answers as u64);
    }

    /// How much the cache has in memory.
    pub(crate) fn cache_holds(&self, answers: usize, bytes: usize) {
        let number = |number| i64::try_from(number).unwrap_or(i64::MAX);
        self.cache_entries.set(number(answers));
        self.cache_bytes.set(number(bytes));
    }

    /// The number of counted operations.
    #[cfg(test)]
    pub(crate) fn counted(&self, store: &str, outcome: &str) -> u64 {
        self.store_operations_total.with_label_values(&[store, outcome]).get()
    }
}

/// The label of an operation's result.
pub(crate) fn outcome<T>(result: &Result<T, StoreError>) -> &'static str {
    match result {
        Ok(_) => "done",
        Err(StoreError::NotFound) => "not_found",
        Err(StoreError::Unavailable(_) | StoreError::NewerSchema(_)) => "unavailable",
        Err(StoreError::Timeout) => "timeout",
        Err(_) => "failed",
    }
}

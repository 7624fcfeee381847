//! The Prometheus metrics of stores.

use ragengine_metrics::metrics;

use crate::StoreError;

metrics! {
    /// The Prometheus metrics of stores.
    pub struct StoreMetrics: "" {
        /// Operations of stores. `store` is `feedback`, `interactions` or `sessions`. `outcome` is `done`, `not_found`,
        /// `unavailable` (the database is out of reach, or a newer version wrote it), `timeout` (also when the caller
        /// did not wait any longer), `failed`, or `dropped` (too much waits for the store).
        store_operations_total: Counters["store", "outcome"],
    }
}

/// The outcomes of operations.
const OUTCOMES: [&str; 6] = ["done", "not_found", "unavailable", "timeout", "failed", "dropped"];

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

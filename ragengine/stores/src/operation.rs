use std::time::Duration;

use tokio::time::timeout;

use crate::metrics::outcome;
use crate::{StoreError, StoreMetrics};

/// The time limit of every operation. Callers that can wait less stop waiting earlier.
pub const OPERATION_TIMEOUT: Duration = Duration::from_secs(2);

/// Limits and counts the operations of one store.
pub(crate) struct Operations {
    metrics: StoreMetrics,
    store: &'static str,
}

impl Operations {
    /// For the store of this name.
    pub fn new(metrics: StoreMetrics, store: &'static str) -> Self {
        metrics.begin(store);
        Self { metrics, store }
    }

    /// Runs an operation, at most for [`OPERATION_TIMEOUT`].
    ///
    /// # Errors
    ///
    /// Those of the operation, or [`StoreError::Timeout`].
    pub async fn run<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.run_within(OPERATION_TIMEOUT, work).await
    }

    /// Runs an operation, at most for this time.
    ///
    /// # Errors
    ///
    /// Those of the operation, or [`StoreError::Timeout`].
    pub async fn run_within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        // When the caller stops waiting, this future is dropped, and the label stays.
        let mut counted = Counted { operations: self, outcome: "timeout" };
        let result = timeout(limit, work).await.unwrap_or(Err(StoreError::Timeout));
        counted.outcome = outcome(&result);
        result
    }

    /// Runs an operation that needs no waiting and cannot fail.
    pub fn run_now<T>(&self, work: impl FnOnce() -> T) -> T {
        let result = work();
        self.metrics.count(self.store, "done");
        result
    }
}

/// Counts an operation when it ends.
struct Counted<'a> {
    operations: &'a Operations,
    outcome: &'static str,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.operations.metrics.count(self.operations.store, self.outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use ragengine_metrics::Builder;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_operation_that_is_late_or_that_nobody_waits_for_counts_as_a_timeout() {
        let metrics = StoreMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
        let operations = Operations::new(metrics.clone(), "feedback");
        let late = operations.run(pending::<Result<(), StoreError>>());
        assert_eq!(late.await, Err(StoreError::Timeout));
        assert_eq!(metrics.counted("feedback", "timeout"), 1);
        let left = operations.run(pending::<Result<(), StoreError>>());
        assert!(timeout(Duration::from_millis(100), left).await.is_err());
        assert_eq!(metrics.counted("feedback", "timeout"), 2);
    }

    #[tokio::test]
    async fn an_operation_is_counted_by_its_outcome() {
        let metrics = StoreMetrics::new(&mut Builder::new(Duration::from_secs(1)).unwrap()).unwrap();
        let operations = Operations::new(metrics.clone(), "interactions");
        let words = || "x".to_owned();
        for (result, expected) in [
            (Ok(()), "done"),
            (Err(StoreError::NotFound), "not_found"),
            (Err(StoreError::Unavailable(words())), "unavailable"),
            (Err(StoreError::NewerSchema(words())), "unavailable"),
            (Err(StoreError::Damaged(words())), "failed"),
            (Err(StoreError::Full), "failed"),
        ] {
            let before = metrics.counted("interactions", expected);
            assert_eq!(operations.run(async { result.clone() }).await, result);
            assert_eq!(metrics.counted("interactions", expected), before + 1, "{result:?}");
        }
    }
}

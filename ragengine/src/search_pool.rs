//! The threads that search: as many as cores, each with FAISS set to one thread per call.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::index::search::{Query, SearchResult};
use crate::index::{Index, IndexError};
use crate::metrics::Metrics;

/// A bounded pool, apart from the runtime's threads: a search computes, and hundreds of them at once would only wait for each other.
pub struct SearchPool {
    pool: rayon::ThreadPool,
    metrics: Arc<Metrics>,
}

impl SearchPool {
    /// Starts the threads. 0: one for each core.
    ///
    /// # Errors
    ///
    /// When the system gives none.
    pub fn new(threads: usize, metrics: Arc<Metrics>) -> Result<Self, rayon::ThreadPoolBuildError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("search-{number}"))
            .start_handler(|_| ragengine_faiss::use_one_thread_per_call())
            .build()?;
        Ok(Self { pool, metrics })
    }

    /// Searches an index.
    ///
    /// # Errors
    ///
    /// As [`Index::search`].
    pub async fn search(&self, index: Arc<Index>, query: Query) -> Result<SearchResult, IndexError> {
        let started = Instant::now();
        let result = self.run(move || index.search(&query)).await;
        self.metrics.searched(started.elapsed());
        result
    }

    /// Computes something. It is not begun when its caller has gone by then; a panic in it goes on in the caller.
    ///
    /// # Errors
    ///
    /// What the work says, or [`IndexError::ShuttingDown`] when it was not begun.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let (send, receive) = oneshot::channel();
        self.pool.spawn(move || {
            if !send.is_closed() {
                // When the caller leaves meanwhile there is nobody to tell.
                drop(send.send(catch_unwind(AssertUnwindSafe(work))));
            }
        });
        match receive.await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(IndexError::ShuttingDown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_the_callers_and_the_pool_lives_on() {
        let pool = Arc::new(SearchPool::new(1, Arc::new(Metrics::new().unwrap())).unwrap());
        let broken = Arc::clone(&pool);
        let caller = tokio::spawn(async move { broken.run::<()>(|| panic!("as planned")).await });
        assert!(caller.await.unwrap_err().is_panic());
        assert_eq!(pool.run(|| Ok(7)).await.unwrap(), 7);
    }
}

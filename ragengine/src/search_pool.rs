//! Searching: as many at once as cores, each with FAISS set to one thread per call.

use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;

use tokio::sync::Semaphore;

use crate::blocking;
use crate::index::search::{Found, Query};
use crate::index::{Index, IndexError};
use crate::metrics::Metrics;

/// A bound on how many searches compute at once, apart from the threads that serve requests: hundreds of them would only wait for
/// each other. Waiting costs nothing here; the threads of a work-stealing pool look for work for a while before they sleep, which cost
/// 0.3 ms a search.
pub struct SearchPool {
    turns: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

impl SearchPool {
    /// So many searches at once. 0: one for each core.
    pub fn new(threads: usize, metrics: Arc<Metrics>) -> Self {
        let threads = match threads {
            0 => available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        Self { turns: Arc::new(Semaphore::new(threads)), metrics }
    }

    /// Searches an index, and makes of what was found what is shown: on the same thread, as it may be much.
    ///
    /// # Errors
    ///
    /// As [`Index::search`].
    pub async fn search<T: Send + 'static>(
        &self,
        index: Arc<Index>,
        query: Query,
        show: impl FnOnce(Vec<Found>) -> T + Send + 'static,
    ) -> Result<T, IndexError> {
        let started = Instant::now();
        let metrics = Arc::clone(&self.metrics);
        self.run(move || {
            let found = index.search(&query);
            metrics.searched(started.elapsed());
            found.map(show)
        })
        .await
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
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| IndexError::ShuttingDown)?;
        blocking::run(move || {
            // The turn is over when the work is, even if the caller has left meanwhile.
            let _turn = turn;
            ragengine_faiss::use_one_thread_per_call();
            work()
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_the_callers_and_the_pool_lives_on() {
        let pool = Arc::new(SearchPool::new(1, Arc::new(Metrics::new(std::time::Duration::from_secs(300)).unwrap())));
        let broken = Arc::clone(&pool);
        let caller = tokio::spawn(async move { broken.run::<()>(|| panic!("as planned")).await });
        assert!(caller.await.unwrap_err().is_panic());
        assert_eq!(pool.run(|| Ok(7)).await.unwrap(), 7);
    }
}

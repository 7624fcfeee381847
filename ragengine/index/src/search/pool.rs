//! Runs searches: at most one per core at a time, each with FAISS limited to one thread.

use std::sync::Arc;
use std::thread::available_parallelism;

use ragengine_compute::{ShuttingDown, blocking};
use tokio::sync::Semaphore;

/// Limits how many searches run at once. Hundreds of concurrent searches would only compete for cores. A semaphore
/// costs nothing while waiting; the idle threads of a work-stealing pool spin before they sleep, which cost 0.3 ms per
/// search.
pub struct SearchPool {
    turns: Arc<Semaphore>,
}

impl SearchPool {
    /// A pool for `threads` concurrent searches. 0: one per core.
    pub fn new(threads: usize) -> Self {
        let threads = match threads {
            0 => available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        Self { turns: Arc::new(Semaphore::new(threads)) }
    }

    /// Runs a computation. It is skipped if the caller is dropped before it starts. A panic propagates to the caller.
    ///
    /// # Errors
    ///
    /// The error of the work, or [`ShuttingDown`] if it was not started.
    pub async fn run<T, E>(&self, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<ShuttingDown> + Send + 'static,
    {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| ShuttingDown)?;
        blocking::run(move || {
            // The permit is released when the work ends, even if the caller has been dropped.
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
    async fn a_panic_reaches_the_caller_and_the_pool_keeps_working() {
        let pool = Arc::new(SearchPool::new(1));
        let broken = Arc::clone(&pool);
        let caller = tokio::spawn(async move { broken.run::<(), ShuttingDown>(|| panic!("as planned")).await });
        assert!(caller.await.unwrap_err().is_panic());
        assert_eq!(pool.run(|| Ok::<_, ShuttingDown>(7)).await.unwrap(), 7);
    }
}

//! Searching: as many at once as cores, each with FAISS set to one thread per call.

use std::sync::Arc;
use std::thread::available_parallelism;

use ragengine_compute::{ShuttingDown, blocking};
use tokio::sync::Semaphore;

/// A bound on how many searches compute at once, apart from the threads that serve requests: hundreds of them would only wait for
/// each other. Waiting costs nothing here; the threads of a work-stealing pool look for work for a while before they sleep, which cost
/// 0.3 ms a search.
pub struct SearchPool {
    turns: Arc<Semaphore>,
}

impl SearchPool {
    /// So many searches at once. 0: one for each core.
    pub fn new(threads: usize) -> Self {
        let threads = match threads {
            0 => available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        Self { turns: Arc::new(Semaphore::new(threads)) }
    }

    /// Computes something. It is not begun when its caller has gone by then; a panic in it goes on in the caller.
    ///
    /// # Errors
    ///
    /// What the work says, or [`ShuttingDown`] when it was not begun.
    pub async fn run<T, E>(&self, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<ShuttingDown> + Send + 'static,
    {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| ShuttingDown)?;
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
        let pool = Arc::new(SearchPool::new(1));
        let broken = Arc::clone(&pool);
        let caller = tokio::spawn(async move { broken.run::<(), ShuttingDown>(|| panic!("as planned")).await });
        assert!(caller.await.unwrap_err().is_panic());
        assert_eq!(pool.run(|| Ok::<_, ShuttingDown>(7)).await.unwrap(), 7);
    }
}

//! The threads that search: as many as cores, each with FAISS set to one thread per call.

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

    /// Searches an index. A search whose caller has gone before it began is not made.
    ///
    /// # Errors
    ///
    /// As [`Index::search`].
    pub async fn search(&self, index: Arc<Index>, query: Query) -> Result<SearchResult, IndexError> {
        let started = Instant::now();
        let (send, receive) = oneshot::channel();
        self.pool.spawn(move || {
            if !send.is_closed() {
                // When the caller leaves meanwhile there is nobody to tell.
                drop(send.send(index.search(&query)));
            }
        });
        let result = receive.await.unwrap_or(Err(IndexError::ShuttingDown));
        self.metrics.searched(started.elapsed());
        result
    }
}

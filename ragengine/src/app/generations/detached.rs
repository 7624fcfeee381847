//! Work that completes even if its caller leaves.

use ragengine_index::IndexError;

/// Runs work in a separate task, so that it completes even if the caller is cancelled.
///
/// # Errors
///
/// The error of the work, or [`IndexError::ShuttingDown`].
pub async fn run_detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, IndexError>> + Send + 'static,
) -> Result<T, IndexError> {
    tokio::spawn(work).await.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(IndexError::ShuttingDown),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn detached_work_completes_after_its_caller_is_cancelled() {
        let (goes_on, is_done) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (waits, done) = (Arc::clone(&goes_on), Arc::clone(&is_done));
        let work = async move {
            waits.notified().await;
            done.store(true, Ordering::SeqCst);
            Ok(7)
        };
        let caller = tokio::spawn(run_detached(work));
        tokio::task::yield_now().await;
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        goes_on.notify_one();
        while !is_done.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        assert_eq!(run_detached(async { Ok(7) }).await.unwrap(), 7);
        let panics = tokio::spawn(run_detached::<()>(async { panic!("as planned") }));
        assert!(panics.await.unwrap_err().is_panic());
    }
}

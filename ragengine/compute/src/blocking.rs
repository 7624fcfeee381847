//! Runs work on threads that may block.

use opentelemetry::Context;
use tokio::task::JoinHandle;

use crate::ShuttingDown;

/// Runs work on a blocking thread. Dropping the future cancels work that has not started. A panic in the work is
/// resumed in the caller, as if the caller had done the work itself.
///
/// # Errors
///
/// The error of the work, or [`ShuttingDown`] if it was not started.
pub async fn run<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    // The work belongs to the same trace.
    let context = Context::current();
    let mut awaited = Awaited(tokio::task::spawn_blocking(move || {
        let _current = context.attach();
        work()
    }));
    match (&mut awaited.0).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ShuttingDown.into()),
        },
    }
}

/// Aborts the work when it is dropped. Work that has started runs to its end.
struct Awaited<T>(JoinHandle<T>);

impl<T> Drop for Awaited<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn cancelled_work_is_not_started() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let (go_on, waits) = mpsc::channel::<()>();
            let first = tokio::spawn(run::<_, ShuttingDown>(move || Ok(waits.recv().is_ok())));
            let was_begun = Arc::new(AtomicBool::new(false));
            let begins = Arc::clone(&was_begun);
            let second = tokio::spawn(run::<_, ShuttingDown>(move || {
                begins.store(true, Ordering::SeqCst);
                Ok(())
            }));
            tokio::task::yield_now().await;
            second.abort();
            assert!(second.await.unwrap_err().is_cancelled());
            go_on.send(()).unwrap();
            assert!(first.await.unwrap().unwrap());
            assert_eq!(run::<_, ShuttingDown>(|| Ok(3)).await.unwrap(), 3);
            assert!(!was_begun.load(Ordering::SeqCst));
        });
    }
}

//! Handing work to a thread that may block.

use tokio::task::JoinHandle;

use crate::ShuttingDown;

/// Runs such work. It is not begun when its caller has gone by then. A panic in it goes on in the caller, as if the caller had done
/// the work itself.
///
/// # Errors
///
/// What the work says, or [`ShuttingDown`] when it was not begun.
pub async fn run<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    let mut awaited = Awaited(tokio::task::spawn_blocking(work));
    match (&mut awaited.0).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ShuttingDown.into()),
        },
    }
}

/// Work that somebody waits for. What has been begun is done all the same.
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
    fn what_nobody_waits_for_any_more_is_not_begun() {
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

//! Computing apart from the threads that serve requests: as much at once as there are cores, in pieces that stop when nobody waits any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use crate::blocking;
use crate::index::IndexError;

/// What is about this many bytes is done at once: reading or writing it takes a fraction of a millisecond, and so does handing it to
/// another thread.
const AT_ONCE_BYTES: usize = 64 << 10;

/// The turns to compute. Who waits for one has been admitted, so that there are never more than the admission lets in.
pub struct Compute {
    turns: Arc<Semaphore>,
}

/// Whether somebody still waits for the result. Work in several pieces asks before each.
#[derive(Debug, Clone)]
pub struct Wanted(Arc<AtomicBool>);

/// Nobody waits for the result any more: the client has left, or its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody waits for the result any more")]
pub struct Unwanted;

impl From<Unwanted> for IndexError {
    fn from(_: Unwanted) -> Self {
        Self::ShuttingDown
    }
}

impl Wanted {
    /// Work that is always wanted.
    pub fn always() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Goes on only while somebody waits.
    ///
    /// # Errors
    ///
    /// [`Unwanted`].
    pub fn check(&self) -> Result<(), Unwanted> {
        match self.0.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err(Unwanted),
        }
    }
}

/// Tells the work that its caller has left.
struct Caller(Wanted);

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Relaxed);
    }
}

impl Default for Compute {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from))) }
    }
}

impl Compute {
    /// Computes something about so many bytes: at once when they are few, else in turn, and not at all when the caller has gone by then. A
    /// panic in it goes on in the caller.
    ///
    /// # Errors
    ///
    /// What the work says, or [`IndexError::ShuttingDown`] when it was not begun.
    pub async fn run<T, E>(
        &self,
        bytes: usize,
        work: impl FnOnce(&Wanted) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<IndexError> + Send + 'static,
    {
        if bytes <= AT_ONCE_BYTES {
            return work(&Wanted::always());
        }
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| IndexError::ShuttingDown)?;
        let caller = Caller(Wanted::always());
        let wanted = caller.0.clone();
        let done = blocking::run(move || {
            // The turn is over when the work is, even if the caller has left meanwhile.
            let _turn = turn;
            Ok(work(&wanted))
        })
        .await;
        drop(caller);
        done?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn few_bytes_are_computed_at_once_and_many_on_another_thread() {
        let compute = Compute::default();
        let here = thread::current().id();
        let is_here = |_: &Wanted| Ok::<_, IndexError>(thread::current().id() == here);
        assert!(compute.run(AT_ONCE_BYTES, is_here).await.unwrap());
        assert!(!compute.run(AT_ONCE_BYTES + 1, is_here).await.unwrap());
    }

    #[tokio::test]
    async fn work_whose_caller_leaves_is_told_so() {
        let compute = Arc::new(Compute::default());
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let task = tokio::spawn({
            let compute = Arc::clone(&compute);
            async move {
                let work = move |wanted: &Wanted| {
                    begun.send(()).unwrap();
                    let unwanted = std::iter::repeat_with(|| wanted.check()).find_map(Result::err);
                    ended.send(unwanted).unwrap();
                    Ok::<_, IndexError>(())
                };
                compute.run(usize::MAX, work).await
            }
        });
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        task.abort();
        let unwanted = tokio::task::spawn_blocking(move || has_ended.recv().unwrap()).await.unwrap();
        assert_eq!(unwanted, Some(Unwanted));
        assert!(compute.run(usize::MAX, |_| Ok::<_, IndexError>(1)).await.is_ok());
    }
}

//! Limits concurrent computations with one semaphore for reads and one for writes, because splitting the documents of
//! one request may take minutes and reads must not wait for it.

use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use crate::waiter::{Presence, Waiter};
use crate::{ShuttingDown, blocking};

/// Work on at most this many bytes runs on the calling thread: it takes a fraction of a millisecond, and handing it to
/// another thread would cost about as much.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// Permits for reads, one for each core. Global because the processors are shared by the whole process. Admission
/// control bounds the number of waiting tasks.
static READ_PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(cores())));

/// Permits for writes.
static WRITE_PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(writes_at_once())));

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// One core is reserved for reads if there is more than one.
fn writes_at_once() -> usize {
    cores().saturating_sub(1).max(1)
}

/// Runs work on `bytes` bytes: on the calling thread if they are few, otherwise on another thread, when a permit is
/// free. Work in several steps checks the [`Waiter`] before each step. A panic in the work is resumed in the caller.
///
/// # Errors
///
/// The error of the work, or [`ShuttingDown`] if it was not started.
pub async fn run<T, E>(bytes: usize, work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    if bytes <= MAX_INLINE_BYTES {
        work(&Waiter::default())
    } else {
        // Boxed, so that callers whose work runs at once do not carry and copy the state of the other way.
        Box::pin(run_on_thread(work)).await
    }
}

/// Runs work on another thread, when a permit is free. Unlike [`run`], it does so for any size. It does not wait for
/// [`run_write`].
///
/// # Errors
///
/// As [`run`].
pub async fn run_on_thread<T, E>(work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    with_permit(&READ_PERMITS, work).await
}

/// Like [`run_on_thread`], for the computations of a write: documents are checked, hashed and split here. It takes no
/// permit from reads.
///
/// # Errors
///
/// As [`run`].
pub async fn run_write<T, E>(work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    with_permit(&WRITE_PERMITS, work).await
}

async fn with_permit<T, E>(
    permits: &Arc<Semaphore>,
    work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    let permit = Arc::clone(permits).acquire_owned().await.map_err(|_| ShuttingDown)?;
    // Dropping this future drops `presence`, which cancels the work.
    let presence = Presence::default();
    let waiter = presence.waiter();
    blocking::run(move || {
        // The permit is released when the work ends, even if the caller has left before.
        let _permit = permit;
        work(&waiter)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn few_bytes_run_on_the_calling_thread_and_many_on_another() {
        let here = thread::current().id();
        let is_here = move |_: &Waiter| Ok::<_, ShuttingDown>(thread::current().id() == here);
        assert!(run(MAX_INLINE_BYTES, is_here).await.unwrap());
        assert!(!run(MAX_INLINE_BYTES + 1, is_here).await.unwrap());
    }

    #[tokio::test]
    async fn work_notices_that_its_caller_has_left() {
        let (begun, has_begun) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let work = move |waiter: &Waiter| {
            begun.send(()).unwrap();
            while !waiter.has_left() {
                thread::yield_now();
            }
            ended.send(()).unwrap();
            Ok::<_, ShuttingDown>(())
        };
        let task = tokio::spawn(run_on_thread(work));
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        task.abort();
        tokio::task::spawn_blocking(move || has_ended.recv().unwrap()).await.unwrap();
        assert_eq!(run_on_thread(|_| Ok::<_, ShuttingDown>(7)).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn reads_do_not_wait_run_write() {
        let all = u32::try_from(writes_at_once()).unwrap();
        let taken = WRITE_PERMITS.acquire_many(all).await.unwrap();
        let write = tokio::spawn(run_write(|_| Ok::<_, ShuttingDown>("written")));
        assert_eq!(run_on_thread(|_| Ok::<_, ShuttingDown>("read")).await.unwrap(), "read");
        assert!(!write.is_finished(), "no write permit is free");
        drop(taken);
        assert_eq!(write.await.unwrap().unwrap(), "written");
    }
}

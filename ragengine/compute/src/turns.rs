//! Turns to compute. Writes and reads have separate turns. Cutting the documents of one request may take minutes, and no read waits for that.

use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use crate::waiter::{Presence, Waiter};
use crate::{ShuttingDown, blocking};

/// What is about so many bytes is done at once: reading or writing it takes a fraction of a millisecond, and handing it to another
/// thread takes some of that, too.
const AT_ONCE_BYTES: usize = 64 << 10;

/// The turns to compute, as many as there are cores. The processors are the machine's, so that they are shared by all that is in the
/// process. Who waits for one has been admitted: there are never more than the admission lets in.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(cores())));

/// Those of writes.
static TURNS_OF_WRITES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(writes_at_once())));

fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// A core is left to what reads, where there is more than one.
fn writes_at_once() -> usize {
    cores().saturating_sub(1).max(1)
}

/// Computes something about so many bytes: at once when they are few, else in turn on another thread. Work of several pieces looks before
/// each whether its caller has left. A panic in it goes on in the caller.
///
/// # Errors
///
/// What the work says, or [`ShuttingDown`] when it was not begun.
pub async fn run<T, E>(bytes: usize, work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    match bytes <= AT_ONCE_BYTES {
        true => work(&Waiter::default()),
        false => elsewhere(work).await,
    }
}

/// Computes something in turn on another thread, however little it is about. It does not wait for [`for_writes`].
///
/// # Errors
///
/// As [`run`].
pub async fn elsewhere<T, E>(work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    in_turn(&TURNS, work).await
}

/// The same for what a write computes: documents are checked, hashed and cut here. It takes no turn from what reads.
///
/// # Errors
///
/// As [`run`].
pub async fn for_writes<T, E>(work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    in_turn(&TURNS_OF_WRITES, work).await
}

async fn in_turn<T, E>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce(&Waiter) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ShuttingDown> + Send + 'static,
{
    let turn = Arc::clone(turns).acquire_owned().await.map_err(|_| ShuttingDown)?;
    // Dropped with this future.
    let presence = Presence::default();
    let waiter = presence.waiter();
    blocking::run(move || {
        // The turn is over when the work is, even if the caller has left meanwhile.
        let _turn = turn;
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
    async fn few_bytes_are_computed_at_once_and_many_on_another_thread() {
        let here = thread::current().id();
        let is_here = move |_: &Waiter| Ok::<_, ShuttingDown>(thread::current().id() == here);
        assert!(run(AT_ONCE_BYTES, is_here).await.unwrap());
        assert!(!run(AT_ONCE_BYTES + 1, is_here).await.unwrap());
    }

    #[tokio::test]
    async fn work_whose_caller_leaves_is_told_so() {
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
        let task = tokio::spawn(elsewhere(work));
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
        task.abort();
        tokio::task::spawn_blocking(move || has_ended.recv().unwrap()).await.unwrap();
        assert_eq!(elsewhere(|_| Ok::<_, ShuttingDown>(7)).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn what_reads_waits_for_no_write() {
        let all = u32::try_from(writes_at_once()).unwrap();
        let taken = TURNS_OF_WRITES.acquire_many(all).await.unwrap();
        let write = tokio::spawn(for_writes(|_| Ok::<_, ShuttingDown>("written")));
        assert_eq!(elsewhere(|_| Ok::<_, ShuttingDown>("read")).await.unwrap(), "read");
        assert!(!write.is_finished(), "its turn has not come");
        drop(taken);
        assert_eq!(write.await.unwrap().unwrap(), "written");
    }
}

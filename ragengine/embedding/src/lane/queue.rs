//! The bounded queue between asynchronous callers and the threads that run the model.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, Thread};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError, oneshot};

use super::Runner;
use super::batching::{Extent, Limits};

/// The channel for the results of a job.
pub(super) type Reply<R> = oneshot::Sender<Result<Vec<<R as Runner>::Output>, <R as Runner>::Error>>;

/// Texts that run together, and the channel for their results.
pub(super) struct Job<R: Runner> {
    pub texts: Vec<R::Text>,
    pub reply: Reply<R>,
}

impl<R: Runner> Job<R> {
    fn extent(&self) -> Extent {
        Extent::of(self.texts.iter().map(R::length))
    }

    /// Whether the caller no longer waits for the result.
    fn is_cancelled(&self) -> bool {
        self.reply.is_closed()
    }
}

/// The sending end. Dropping it closes the queue.
pub(super) struct Sender<R: Runner>(Arc<Queue<R>>);

/// The receiving end, which several threads can share.
pub(super) struct Consumer<R: Runner>(Arc<Queue<R>>);

impl<R: Runner> Clone for Consumer<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Reserved room for one job.
pub(super) struct Permit<'a, R: Runner> {
    queue: &'a Queue<R>,
    room: SemaphorePermit<'a>,
}

/// The queue is full.
#[derive(Debug)]
pub(super) struct Full;

struct Queue<R: Runner> {
    waiting: Mutex<Waiting<R>>,
    room: Semaphore,
}

struct Waiting<R: Runner> {
    jobs: VecDeque<Job<R>>,
    /// Idle threads. The one that worked most recently is at the end.
    idle: Vec<Thread>,
    is_closed: bool,
}

/// Creates a queue of at most `capacity` jobs.
pub(super) fn queue<R: Runner>(capacity: usize) -> (Sender<R>, Consumer<R>) {
    let waiting = Waiting { jobs: VecDeque::new(), idle: Vec::new(), is_closed: false };
    let queue = Arc::new(Queue { waiting: Mutex::new(waiting), room: Semaphore::new(capacity) });
    (Sender(Arc::clone(&queue)), Consumer(queue))
}

impl<R: Runner> Sender<R> {
    /// Reserves room for a job, without waiting.
    pub fn try_reserve(&self) -> Result<Permit<'_, R>, Full> {
        match self.0.room.try_acquire() {
            Ok(room) => Ok(Permit { queue: &self.0, room }),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => Err(Full),
        }
    }

    /// Waits for room for a job. None if the queue is closed.
    pub async fn reserve(&self) -> Option<Permit<'_, R>> {
        let room = self.0.room.acquire().await.ok()?;
        Some(Permit { queue: &self.0, room })
    }

    /// Current number of free places.
    pub fn room(&self) -> usize {
        self.0.room.available_permits()
    }
}

impl<R: Runner> Drop for Sender<R> {
    fn drop(&mut self) {
        let idle = {
            let mut waiting = self.0.waiting.lock();
            waiting.is_closed = true;
            std::mem::take(&mut waiting.idle)
        };
        idle.iter().for_each(Thread::unpark);
    }
}

impl<R: Runner> Permit<'_, R> {
    /// Puts a job into the queue and wakes the idle thread that worked most recently, because its processor's caches
    /// are still warm.
    pub fn send(self, job: Job<R>) {
        let woken = {
            let mut waiting = self.queue.waiting.lock();
            waiting.jobs.push_back(job);
            waiting.idle.pop()
        };
        self.room.forget();
        if let Some(thread) = woken {
            thread.unpark();
        }
    }
}

impl<R: Runner> Consumer<R> {
    /// Waits for a job, and takes it together with following jobs that fit, if there are limits. `None` when the queue
    /// is closed and empty.
    pub fn take(&self, limits: Option<Limits>) -> Option<Vec<Job<R>>> {
        let this_thread = thread::current();
        let mut waiting = self.0.waiting.lock();
        loop {
            let jobs = self.batch(&mut waiting, limits);
            if !jobs.is_empty() {
                return Some(jobs);
            }
            if waiting.is_closed {
                return None;
            }
            waiting.idle.push(this_thread.clone());
            drop(waiting);
            thread::park();
            waiting = self.0.waiting.lock();
            // `park` may return spuriously.
            waiting.idle.retain(|thread| thread.id() != this_thread.id());
        }
    }

    /// Takes jobs from the head of the queue while they fit together, and drops cancelled ones.
    fn batch(&self, waiting: &mut Waiting<R>, limits: Option<Limits>) -> Vec<Job<R>> {
        let mut jobs: Vec<Job<R>> = Vec::new();
        let mut extent = None;
        while let Some(job) = waiting.jobs.front() {
            let with = extent.map_or_else(|| job.extent(), |extent: Extent| extent.with(job.extent()));
            let is_wanted = !job.is_cancelled();
            if is_wanted && extent.is_some() && !limits.is_some_and(|limits| with.fits(limits)) {
                break;
            }
            jobs.extend(waiting.jobs.pop_front().filter(|_| is_wanted));
            self.0.room.add_permits(1);
            if is_wanted {
                extent = Some(with);
            }
        }
        jobs
    }
}

#[cfg(test)]
mod tests;

//! The bounded queue between asynchronous callers and the threads that run the model.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, Thread};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError, oneshot};

use super::batching::{Extent, Limits};
use crate::{Error, Vector};

/// Texts that run together, and the channel for their vectors.
pub(super) struct Job {
    pub texts: Vec<String>,
    pub reply: oneshot::Sender<Result<Vec<Vector>, Error>>,
}

impl Job {
    fn extent(&self) -> Extent {
        Extent::of(self.texts.iter().map(String::len))
    }

    /// Whether the caller no longer waits for the result.
    fn is_cancelled(&self) -> bool {
        self.reply.is_closed()
    }
}

/// The sending end. Dropping it closes the queue.
pub(super) struct Sender(Arc<Queue>);

/// The receiving end, which several threads can share.
#[derive(Clone)]
pub(super) struct Consumer(Arc<Queue>);

/// Reserved room for one job.
pub(super) struct Permit<'a> {
    queue: &'a Queue,
    room: SemaphorePermit<'a>,
}

/// The queue is full.
#[derive(Debug)]
pub(super) struct Full;

struct Queue {
    waiting: Mutex<Waiting>,
    room: Semaphore,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Idle threads. The one that worked most recently is at the end.
    idle: Vec<Thread>,
    is_closed: bool,
}

/// Creates a queue of at most `capacity` jobs.
pub(super) fn queue(capacity: usize) -> (Sender, Consumer) {
    let queue = Arc::new(Queue { waiting: Mutex::default(), room: Semaphore::new(capacity) });
    (Sender(Arc::clone(&queue)), Consumer(queue))
}

impl Sender {
    /// Reserves room for a job, without waiting.
    pub fn try_reserve(&self) -> Result<Permit<'_>, Full> {
        match self.0.room.try_acquire() {
            Ok(room) => Ok(Permit { queue: &self.0, room }),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => Err(Full),
        }
    }

    /// Waits for room for a job. None if the queue is closed.
    pub async fn reserve(&self) -> Option<Permit<'_>> {
        let room = self.0.room.acquire().await.ok()?;
        Some(Permit { queue: &self.0, room })
    }

    /// Current number of free places.
    pub fn room(&self) -> usize {
        self.0.room.available_permits()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let idle = {
            let mut waiting = self.0.waiting.lock();
            waiting.is_closed = true;
            std::mem::take(&mut waiting.idle)
        };
        idle.iter().for_each(Thread::unpark);
    }
}

impl Permit<'_> {
    /// Puts a job into the queue and wakes the idle thread that worked most recently, because its processor's caches
    /// are still warm.
    pub fn send(self, job: Job) {
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

impl Consumer {
    /// Waits for a job, and takes it together with following jobs that fit. `None` when the queue is closed and empty.
    pub fn take(&self, limits: Limits) -> Option<Vec<Job>> {
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
    fn batch(&self, waiting: &mut Waiting, limits: Limits) -> Vec<Job> {
        let mut jobs: Vec<Job> = Vec::new();
        let mut extent = None;
        while let Some(job) = waiting.jobs.front() {
            let with = extent.map_or_else(|| job.extent(), |extent: Extent| extent.with(job.extent()));
            let is_wanted = !job.is_cancelled();
            if is_wanted && extent.is_some() && !with.fits(limits) {
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
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { max_texts: 4, max_padded_bytes: 10_000 };

    type Reply = oneshot::Receiver<Result<Vec<Vector>, Error>>;

    fn job(texts: &[&str]) -> (Job, Reply) {
        let (reply, receiver) = oneshot::channel();
        (Job { texts: texts.iter().map(|&text| text.to_owned()).collect(), reply }, receiver)
    }

    fn taken(consumer: &Consumer) -> Option<Vec<Vec<String>>> {
        consumer.take(LIMITS).map(|jobs| jobs.into_iter().map(|job| job.texts).collect())
    }

    #[test]
    fn waiting_jobs_are_taken_together_in_order_while_they_fit() {
        let (sender, consumer) = queue(8);
        let long = "long ".repeat(100);
        let jobs: Vec<_> = [&["a"][..], &["b", "c"], &["d", "e"], &[&long], &["f"]].map(job).into();
        let mut replies = Vec::new();
        for (job, reply) in jobs {
            sender.try_reserve().unwrap().send(job);
            replies.push(reply);
        }
        drop(sender);
        assert_eq!(taken(&consumer).unwrap(), [vec!["a"], vec!["b", "c"]]);
        assert_eq!(taken(&consumer).unwrap(), [vec!["d", "e"]]);
        assert_eq!(taken(&consumer).unwrap(), [vec![long.as_str()]]);
        assert_eq!(taken(&consumer).unwrap(), [vec!["f"]]);
        assert_eq!(taken(&consumer), None);
    }

    #[test]
    fn cancelled_jobs_are_skipped() {
        let (sender, consumer) = queue(8);
        let (first, first_reply) = job(&["first"]);
        let (second, second_reply) = job(&["second"]);
        let (third, _third_reply) = job(&["third"]);
        let (fourth, fourth_reply) = job(&["fourth"]);
        for job in [first, second, third, fourth] {
            sender.try_reserve().unwrap().send(job);
        }
        drop((sender, first_reply, second_reply, fourth_reply));
        assert_eq!(taken(&consumer).unwrap(), [vec!["third"]]);
        assert_eq!(taken(&consumer), None);
    }

    #[test]
    fn a_full_queue_refuses_jobs() {
        let (sender, consumer) = queue(1);
        let (first, _reply) = job(&["a"]);
        sender.try_reserve().unwrap().send(first);
        assert!(sender.try_reserve().is_err());
        assert!(taken(&consumer).is_some());
        assert_eq!(sender.room(), 1);
    }

    #[test]
    fn unused_permits_are_returned() {
        let (sender, _consumer) = queue(1);
        drop(sender.try_reserve().unwrap());
        assert_eq!(sender.room(), 1);
    }

    /// Waits until `threads` threads are idle.
    fn wait_for_idle(consumer: &Consumer, threads: usize) {
        while consumer.0.waiting.lock().idle.len() < threads {
            thread::yield_now();
        }
    }

    #[test]
    fn the_thread_that_worked_most_recently_is_woken_first() {
        let (sender, consumer) = queue(8);
        let (report, reports) = std::sync::mpsc::channel();
        for name in ["first", "second", "third"] {
            let (consumer, report) = (consumer.clone(), report.clone());
            let idle = consumer.0.waiting.lock().idle.len();
            let own = consumer.clone();
            thread::spawn(move || while own.take(LIMITS).is_some_and(|_| report.send(name).is_ok()) {});
            wait_for_idle(&consumer, idle + 1);
        }
        let mut replies = Vec::new();
        for _ in 0..10 {
            let (job, reply) = job(&["a"]);
            replies.push(reply);
            sender.try_reserve().unwrap().send(job);
            assert_eq!(reports.recv().unwrap(), "third");
            wait_for_idle(&consumer, 3);
        }
    }

    #[test]
    fn every_job_is_taken_and_every_thread_ends_with_the_queue() {
        let (sender, consumer) = queue(64);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let consumer = consumer.clone();
                thread::spawn(move || {
                    std::iter::from_fn(|| consumer.take(LIMITS)).map(|jobs| jobs.len()).sum::<usize>()
                })
            })
            .collect();
        let mut replies = Vec::new();
        for _ in 0..2000 {
            let permit = std::iter::repeat_with(|| sender.try_reserve()).find_map(Result::ok).unwrap();
            let (job, reply) = job(&["a"]);
            permit.send(job);
            replies.push(reply);
        }
        drop(sender);
        assert_eq!(threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>(), 2000);
    }
}

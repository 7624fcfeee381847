//! A model's own threads, behind a bounded queue.

mod batching;
mod queue;
mod worker;

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use rten::ThreadPool;
use tokio::sync::oneshot;

pub(crate) use self::batching::{Limits, cut};
use self::queue::{Full, Job, Permit, Sender, queue};
use self::worker::Worker;

/// Maximum of a batch's texts × longest text, in bytes: about 900 tokens. Batching only pays off for short texts.
/// Small batches of long texts free a worker sooner, need less memory and leave more to the other threads.
///
/// Milliseconds of one thread per text, the best of three runs (all-MiniLM-L6-v2 in fp32, AVX-512,
/// `examples/embedding_cost.rs` in a release build):
///
/// | tokens | alone | by 2 | by 4 | by 8 | by 16 |
/// |-------:|------:|-----:|-----:|-----:|------:|
/// |      8 |   3.7 |  3.1 |  2.7 |  2.5 |   2.7 |
/// |     16 |   5.5 |  5.2 |  4.7 |  4.3 |   3.8 |
/// |     32 |  14.2 |  9.7 |  8.0 |  7.7 |   7.7 |
/// |     64 |  17.7 | 17.5 | 15.2 | 14.7 |  17.3 |
/// |    128 |  41.9 | 39.7 | 35.5 | 41.8 |  40.2 |
/// |    254 |  82.5 | 85.5 | 74.7 | 84.2 |  81.2 |
pub(crate) const MAX_PADDED_BYTES: usize = 4 << 10;

/// Runs a model on the thread of a lane. Each thread has a clone.
pub(crate) trait Runner: Clone + Send + Sync + 'static {
    /// What the model reads.
    type Text: Default + Send + Sync + 'static;
    /// What it makes of each text.
    type Output: Default + Send + 'static;
    type Error: Clone + From<Failure> + Send + 'static;

    /// The length of a text in bytes.
    fn length(text: &Self::Text) -> usize;

    /// Runs one batch. The results are in the order of the texts.
    fn run(&self, pool: &Arc<ThreadPool>, texts: &[&Self::Text]) -> Result<Vec<Self::Output>, Self::Error>;

    /// Maps the position of a text in its batch to the position in the request.
    fn at_request_positions(error: Self::Error, _positions: &[usize]) -> Self::Error {
        error
    }
}

/// Why a lane did not run texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The runtime panicked.
    Panicked,
    /// The queue is full.
    Full {
        /// Number of waiting jobs.
        waiting: usize,
    },
    /// The lane is being dropped.
    Stopped,
    /// A thread cannot be started.
    NoThread(String),
}

/// What a request does if the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// It is refused, unless there is room for its first batch.
    Refuse,
    /// It waits.
    Wait,
}

/// The number of threads and the limits of a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneOptions {
    /// The name of the threads.
    pub name: &'static str,
    /// Number of threads.
    pub threads: usize,
    /// Maximum number of waiting jobs.
    pub capacity: usize,
    /// The limits of a batch.
    pub limits: Limits,
    /// Whether batches of different requests run together if they fit.
    pub is_joining: bool,
    /// Added to the niceness of the threads.
    pub niceness: i32,
}

/// One queue and its threads. Dropping it waits for the running batches and ends the threads.
pub(crate) struct Lane<R: Runner> {
    /// `None` only while the lane is dropped, which ends the threads.
    sender: Option<Sender<R>>,
    options: LaneOptions,
    threads: Vec<JoinHandle<()>>,
}

impl<R: Runner> Lane<R> {
    /// Starts the threads.
    pub fn start(runner: &R, options: LaneOptions) -> Result<Self, R::Error> {
        let (sender, consumer) = queue(options.capacity);
        let mut lane = Self { sender: Some(sender), options, threads: Vec::with_capacity(options.threads) };
        for _ in 0..options.threads {
            let limits = options.is_joining.then_some(options.limits);
            let worker =
                Worker { runner: runner.clone(), consumer: consumer.clone(), limits, niceness: options.niceness };
            let thread = thread::Builder::new()
                .name(options.name.to_owned())
                .spawn(move || worker.run())
                .map_err(|error| Failure::NoThread(error.to_string()))?;
            lane.threads.push(thread);
        }
        Ok(lane)
    }

    /// Runs texts in batches. The results are in the order of the texts. Dropping the future cancels the batches that
    /// have not started.
    pub async fn run(&self, when_full: WhenFull, mut texts: Vec<R::Text>) -> Result<Vec<R::Output>, R::Error> {
        let lengths: Vec<usize> = texts.iter().map(R::length).collect();
        let batches = cut(&lengths, self.options.limits);
        let mut admission = match when_full {
            WhenFull::Refuse if !texts.is_empty() => Some(self.try_reserve()?),
            _ => None,
        };
        let submissions = batches.into_iter().map(|positions| {
            let texts = positions.iter().map(|&position| std::mem::take(&mut texts[position])).collect();
            self.submit(admission.take(), texts, positions)
        });
        // Collected because the iterator borrows the texts. The futures do nothing until they are polled.
        let submissions: Vec<_> = submissions.collect();
        let mut results = Vec::new();
        results.resize_with(lengths.len(), R::Output::default);
        // Large enough that no thread idles, and small enough that requests take turns.
        let batches_in_flight = 2 * self.options.threads;
        let mut finished = stream::iter(submissions).buffer_unordered(batches_in_flight);
        while let Some((positions, batch)) = finished.try_next().await? {
            for (position, result) in positions.into_iter().zip(batch) {
                results[position] = result;
            }
        }
        Ok(results)
    }

    fn try_reserve(&self) -> Result<Permit<'_, R>, R::Error> {
        let sender = self.sender.as_ref().ok_or(Failure::Stopped)?;
        Ok(sender.try_reserve().map_err(|Full| Failure::Full { waiting: self.options.capacity })?)
    }

    /// Waits for room, unless a permit is given, and then for the results.
    async fn submit<'a>(
        &'a self,
        permit: Option<Permit<'a, R>>,
        texts: Vec<R::Text>,
        positions: Vec<usize>,
    ) -> Result<(Vec<usize>, Vec<R::Output>), R::Error> {
        let permit = match permit {
            Some(permit) => permit,
            None => {
                let sender = self.sender.as_ref().ok_or(Failure::Stopped)?;
                sender.reserve().await.ok_or(Failure::Stopped)?
            }
        };
        let (reply, results) = oneshot::channel();
        permit.send(Job { texts, reply });
        let results = results.await.map_err(|_| Failure::Stopped)?;
        match results {
            Ok(results) => Ok((positions, results)),
            Err(error) => Err(R::at_request_positions(error, &positions)),
        }
    }

    /// Number of jobs that wait for a thread.
    pub fn depth(&self) -> usize {
        self.sender.as_ref().map_or(0, |sender| self.options.capacity - sender.room())
    }
}

impl<R: Runner> Drop for Lane<R> {
    fn drop(&mut self) {
        self.sender = None;
        for thread in self.threads.drain(..) {
            // The panic hook has reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

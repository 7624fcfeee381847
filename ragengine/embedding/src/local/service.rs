//! A model with two queues, so that queries never wait for an ingest.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use tokio::sync::oneshot;

use super::batching::{self, Limits};
use super::model::Model;
use super::queue::{Full, Job, Permit, Sender, queue};
use super::worker::Worker;
use crate::{Error, Purpose, Vector};

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
const MAX_PADDED_BYTES: usize = 4 << 10;

/// The number of threads and the limits of the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Number of threads for queries. The same number is used for passages. At least 1. Default: one per processor.
    pub threads: usize,
    /// Maximum number of waiting queries. A further one gets [`Error::Overloaded`].
    pub query_queue: usize,
    /// Maximum number of waiting batches of passages. Callers with further ones wait.
    pub passage_queue: usize,
    /// Maximum number of texts in a batch, at least 1. Long texts run in smaller batches or alone.
    pub max_batch: usize,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            threads: thread::available_parallelism().map_or(1, NonZeroUsize::get),
            query_queue: 256,
            passage_queue: 64,
            max_batch: 8,
        }
    }
}

/// Number of jobs that wait for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepths {
    /// Batches of queries.
    pub queries: usize,
    /// Batches of passages.
    pub passages: usize,
}

/// A model and its threads. Dropping it waits for the running batches and ends the threads.
pub struct Service {
    model: Arc<Model>,
    queries: Lane,
    passages: Lane,
    limits: Limits,
    batches_in_flight: usize,
}

impl Service {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// An option is 0, or a thread cannot be started.
    pub fn start(model: impl Into<Arc<Model>>, options: &ServiceOptions) -> Result<Self, Error> {
        check(options)?;
        let model = model.into();
        let limits = Limits { max_texts: options.max_batch, max_padded_bytes: MAX_PADDED_BYTES };
        let lane = |purpose, capacity| Lane::start(&model, purpose, limits, options.threads, capacity);
        Ok(Self {
            queries: lane(Purpose::Query, options.query_queue)?,
            passages: lane(Purpose::Passage, options.passage_queue)?,
            limits,
            // Large enough that no thread idles, and small enough that requests take turns.
            batches_in_flight: 2 * options.threads,
            model,
        })
    }

    /// Embeds texts. The vectors are in the order of the texts.
    ///
    /// Passages wait for room in their queue batch by batch, so that a request may have any size. Dropping the future
    /// cancels the batches that have not started.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] for a query if the queue is full, [`Error::TooLong`] with the position of a passage over
    /// the limit, [`Error::Inference`].
    pub async fn embed(&self, purpose: Purpose, mut texts: Vec<String>) -> Result<Vec<Vector>, Error> {
        let lengths: Vec<usize> = texts.iter().map(String::len).collect();
        let batches = batching::cut(&lengths, self.limits);
        let lane = self.lane(purpose);
        let mut admission = match purpose {
            Purpose::Query if !texts.is_empty() => Some(lane.try_reserve()?),
            _ => None,
        };
        let submissions = batches.into_iter().map(|positions| {
            let texts = positions.iter().map(|&position| std::mem::take(&mut texts[position])).collect();
            lane.submit(admission.take(), texts, positions)
        });
        // Collected because the iterator borrows the texts. The futures do nothing until they are polled.
        let submissions: Vec<_> = submissions.collect();
        let mut vectors = vec![Vector::new(); lengths.len()];
        let mut finished = stream::iter(submissions).buffer_unordered(self.batches_in_flight);
        while let Some((positions, batch)) = finished.try_next().await? {
            for (position, vector) in positions.into_iter().zip(batch) {
                vectors[position] = vector;
            }
        }
        Ok(vectors)
    }

    /// The model, for counting tokens and for its properties.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The current lengths of the queues.
    pub fn queue_depths(&self) -> QueueDepths {
        QueueDepths { queries: self.queries.depth(), passages: self.passages.depth() }
    }

    fn lane(&self, purpose: Purpose) -> &Lane {
        match purpose {
            Purpose::Query => &self.queries,
            Purpose::Passage => &self.passages,
        }
    }
}

fn check(options: &ServiceOptions) -> Result<(), Error> {
    let values = [
        ("threads", options.threads),
        ("query_queue", options.query_queue),
        ("passage_queue", options.passage_queue),
        ("max_batch", options.max_batch),
    ];
    match values.iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(Error::Configuration(format!("the embedding service's {name} must be at least 1"))),
        None => Ok(()),
    }
}

/// One queue and its threads.
struct Lane {
    /// `None` only while the lane is dropped, which ends the threads.
    sender: Option<Sender>,
    capacity: usize,
    threads: Vec<JoinHandle<()>>,
}

impl Lane {
    fn start(
        model: &Arc<Model>,
        purpose: Purpose,
        limits: Limits,
        threads: usize,
        capacity: usize,
    ) -> Result<Self, Error> {
        let (sender, consumer) = queue(capacity);
        let mut lane = Self { sender: Some(sender), capacity, threads: Vec::with_capacity(threads) };
        for _ in 0..threads {
            let worker = Worker { model: Arc::clone(model), consumer: consumer.clone(), purpose, limits };
            let thread = thread::Builder::new()
                .name("embedding".to_owned())
                .spawn(move || worker.run())
                .map_err(|error| Error::Configuration(format!("cannot start a thread for embedding: {error}")))?;
            lane.threads.push(thread);
        }
        Ok(lane)
    }

    fn try_reserve(&self) -> Result<Permit<'_>, Error> {
        let sender = self.sender.as_ref().ok_or(Error::Stopped)?;
        sender.try_reserve().map_err(|Full| Error::Overloaded { waiting: self.capacity })
    }

    /// Waits for room, unless a permit is given, and then for the vectors.
    async fn submit<'a>(
        &'a self,
        permit: Option<Permit<'a>>,
        texts: Vec<String>,
        positions: Vec<usize>,
    ) -> Result<(Vec<usize>, Vec<Vector>), Error> {
        let permit = match permit {
            Some(permit) => permit,
            None => {
                let sender = self.sender.as_ref().ok_or(Error::Stopped)?;
                sender.reserve().await.ok_or(Error::Stopped)?
            }
        };
        let (reply, vectors) = oneshot::channel();
        permit.send(Job { texts, reply });
        let vectors = vectors.await.map_err(|_| Error::Stopped)?;
        match vectors {
            Ok(vectors) => Ok((positions, vectors)),
            Err(error) => Err(error.at_request_positions(&positions)),
        }
    }

    fn depth(&self) -> usize {
        self.sender.as_ref().map_or(0, |sender| self.capacity - sender.room())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.sender = None;
        for thread in self.threads.drain(..) {
            // The panic hook has reported a panic of the thread.
            let _ = thread.join();
        }
    }
}

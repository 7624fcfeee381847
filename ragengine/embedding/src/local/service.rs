//! A model behind two queues: queries never wait behind an ingest.

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

/// A batch's texts × longest text, in bytes: about 900 tokens. A batch pays for short texts only, and a worker that has
/// few long ones is sooner free for the next request, needs less memory, and leaves more to the other threads.
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

/// How many threads and how long the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Threads for queries, and as many again for passages; both at least 1. Default: one per processor.
    pub threads: usize,
    /// Queries that may wait; one more is [`Error::Overloaded`].
    pub query_queue: usize,
    /// Batches of passages that may wait; further ones wait with their callers.
    pub passage_queue: usize,
    /// Texts that run together, at least 1; long texts run in smaller numbers, or alone.
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

/// Jobs that wait for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDepths {
    /// Queries (those of one request of several texts count once per batch).
    pub queries: usize,
    /// Batches of passages.
    pub passages: usize,
}

/// A model and its threads. Dropping it ends them; that waits for the batches that are running.
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
    /// The options have a zero, or the system gives no more threads.
    pub fn start(model: impl Into<Arc<Model>>, options: &ServiceOptions) -> Result<Self, Error> {
        check(options)?;
        let model = model.into();
        let limits = Limits { max_texts: options.max_batch, max_padded_bytes: MAX_PADDED_BYTES };
        let lane = |purpose, capacity| Lane::start(&model, purpose, limits, options.threads, capacity);
        Ok(Self {
            queries: lane(Purpose::Query, options.query_queue)?,
            passages: lane(Purpose::Passage, options.passage_queue)?,
            limits,
            // Enough that no thread waits for the next batch, and few enough that requests take turns.
            batches_in_flight: 2 * options.threads,
            model,
        })
    }

    /// The vectors of the texts, in their order.
    ///
    /// Passages wait for room in their queue, a batch at a time, so a request may be of any size. Dropping the future
    /// cancels what has not begun.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] for a query that finds its queue full, [`Error::TooLong`] with the position of a passage
    /// over the limit (nothing is returned then), [`Error::Inference`].
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
        // The iterator is collected because it borrows the texts; the futures do nothing until they are polled.
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

    /// The model: for counting tokens, and what it is.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How much is waiting now.
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

/// One queue and the threads that serve only it.
struct Lane {
    /// `None` only while it is dropped: that is what ends the threads.
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

    /// Waits for room (unless there is a permit already) and then for the vectors.
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
            // A panic of the thread has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

//! A model with two queues, so that queries never wait for an ingest.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use rten::ThreadPool;

use super::model::Model;
use crate::lane::{Lane, LaneOptions, Limits, MAX_PADDED_BYTES, Runner, WhenFull};
use crate::{Error, Purpose, Vector};

/// Added to the niceness of threads that embed passages. At +10, a thread gets a tenth of a contended processor.
const PASSAGE_NICENESS: i32 = 10;

/// The number of threads and the limits of the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Number of threads for queries. The same number is used for passages. At least 1. Default: one per processor.
    pub threads: usize,
    /// Maximum number of waiting queries. A further one gets [`Error::Overloaded`].
    pub query_queue: usize,
    /// Maximum number of waiting batches of passages. Callers with further ones wait.
    pub passage_queue: usize,
    /// Maximum number of texts in a batch, at least 1. Long texts run in smaller batches or alone, and so do all texts
    /// of a model that [depends on the batch](Model::depends_on_batch).
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
    queries: Lane<Embed>,
    passages: Lane<Embed>,
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
        let max_texts = if model.depends_on_batch() { 1 } else { options.max_batch };
        let limits = Limits { max_texts, max_padded_bytes: MAX_PADDED_BYTES };
        let lane = |purpose, capacity, niceness| {
            let (name, threads) = ("embedding", options.threads);
            let lane = LaneOptions { name, threads, capacity, limits, is_joining: true, niceness };
            Lane::start(&Embed { model: Arc::clone(&model), purpose }, lane)
        };
        Ok(Self {
            queries: lane(Purpose::Query, options.query_queue, 0)?,
            passages: lane(Purpose::Passage, options.passage_queue, PASSAGE_NICENESS)?,
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
    pub async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vector>, Error> {
        match purpose {
            Purpose::Query => self.queries.run(WhenFull::Refuse, texts).await,
            Purpose::Passage => self.passages.run(WhenFull::Wait, texts).await,
        }
    }

    /// The model, for counting tokens and for its properties.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The current lengths of the queues.
    pub fn queue_depths(&self) -> QueueDepths {
        QueueDepths { queries: self.queries.depth(), passages: self.passages.depth() }
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

/// Embeds batches of one purpose.
#[derive(Clone)]
struct Embed {
    model: Arc<Model>,
    purpose: Purpose,
}

impl Runner for Embed {
    type Text = String;
    type Output = Vector;
    type Error = Error;

    fn length(text: &String) -> usize {
        text.len()
    }

    fn run(&self, pool: &Arc<ThreadPool>, texts: &[&String]) -> Result<Vec<Vector>, Error> {
        let texts: Vec<&str> = texts.iter().map(|text| text.as_str()).collect();
        self.model.embed(pool, self.purpose, &texts)
    }

    fn at_request_positions(error: Error, positions: &[usize]) -> Error {
        error.at_request_positions(positions)
    }
}

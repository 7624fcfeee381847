//! A cross-encoder with a queue and threads.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;

use rten::ThreadPool;

use super::Error;
use super::model::{CrossEncoder, LIMITS, pair_length};
use crate::lane::{Lane, LaneOptions, Runner, WhenFull};

/// The number of threads and the limit of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// Number of threads, at least 1. Default: one per processor.
    pub threads: usize,
    /// Maximum number of waiting batches, at least 1. If there is no room for the first batch of a request, it gets
    /// [`Error::Overloaded`].
    pub queue: usize,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self { threads: thread::available_parallelism().map_or(1, NonZeroUsize::get), queue: 64 }
    }
}

/// A cross-encoder and its threads. Dropping it waits for the running batches and ends the threads.
pub struct Service {
    model: Arc<CrossEncoder>,
    lane: Lane<Score>,
}

impl Service {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// An option is 0, or a thread cannot be started.
    pub fn start(model: impl Into<Arc<CrossEncoder>>, options: &ServiceOptions) -> Result<Self, Error> {
        for (name, value) in [("threads", options.threads), ("queue", options.queue)] {
            if value == 0 {
                return Err(Error::Configuration(format!("the reranker's {name} must be at least 1")));
            }
        }
        let model = model.into();
        let lane = LaneOptions {
            name: "reranker",
            threads: options.threads,
            capacity: options.queue,
            limits: LIMITS,
            // The padding of a batch changes the last digits of its scores. So other requests do not change the order.
            is_joining: false,
            niceness: 0,
        };
        Ok(Self { lane: Lane::start(&Score(Arc::clone(&model)), lane)?, model })
    }

    /// Scores passages as [`CrossEncoder::score`] does. Dropping the future cancels the batches that have not started.
    ///
    /// # Errors
    ///
    /// [`Error::Overloaded`] if the queue is full, [`Error::Inference`], [`Error::NotFinite`].
    pub async fn score(&self, question: &str, passages: Vec<String>) -> Result<Vec<f32>, Error> {
        let question: Arc<str> = question.into();
        let pair = |passage| Pair { question: Arc::clone(&question), passage };
        self.lane.run(WhenFull::Refuse, passages.into_iter().map(pair).collect()).await
    }

    /// The model.
    pub fn model(&self) -> &CrossEncoder {
        &self.model
    }

    /// Number of batches that wait for a thread.
    pub fn queue_depth(&self) -> usize {
        self.lane.depth()
    }
}

#[derive(Default)]
struct Pair {
    question: Arc<str>,
    passage: String,
}

#[derive(Clone)]
struct Score(Arc<CrossEncoder>);

impl Runner for Score {
    type Text = Pair;
    type Output = f32;
    type Error = Error;

    fn length(pair: &Pair) -> usize {
        pair_length(&pair.question, &pair.passage)
    }

    fn run(&self, pool: &Arc<ThreadPool>, pairs: &[&Pair]) -> Result<Vec<f32>, Error> {
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|pair| (&*pair.question, &*pair.passage)).collect();
        self.0.score_batch(pool, &pairs)
    }
}

//! A thread that runs the model.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rten::ThreadPool;

use super::batching::Limits;
use super::model::Model;
use super::queue::{Consumer, Job};
use crate::{Error, Purpose, Vector};

/// Added to the niceness of threads that embed passages. At +10, a thread gets a tenth of a contended processor.
const PASSAGE_NICENESS: i32 = 10;

/// A thread's state. It serves one queue, for one purpose.
pub(super) struct Worker {
    pub model: Arc<Model>,
    pub consumer: Consumer,
    pub purpose: Purpose,
    pub limits: Limits,
}

impl Worker {
    /// Runs until the queue is closed. The loop runs inside the pool's only thread, so that batches are not handed over
    /// to another thread.
    pub fn run(self) {
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        pool.run(|| {
            if self.purpose == Purpose::Passage {
                lower_priority();
            }
            while let Some(jobs) = self.consumer.take(self.limits) {
                self.serve(&pool, jobs);
            }
        });
    }

    fn serve(&self, pool: &Arc<ThreadPool>, jobs: Vec<Job>) {
        let texts: Vec<&str> = jobs.iter().flat_map(|job| &job.texts).map(String::as_str).collect();
        match self.embed(pool, &texts) {
            Ok(vectors) => answer_all(jobs, vectors),
            // Run the jobs separately, so that one job's error does not affect the others.
            Err(_) if jobs.len() > 1 => jobs.into_iter().for_each(|job| self.serve(pool, vec![job])),
            Err(error) => jobs.into_iter().for_each(|job| answer(job, Err(error.clone()))),
        }
    }

    fn embed(&self, pool: &Arc<ThreadPool>, texts: &[&str]) -> Result<Vec<Vector>, Error> {
        // A panic in the runtime must not end the thread.
        catch_unwind(AssertUnwindSafe(|| self.model.embed(pool, self.purpose, texts)))
            .unwrap_or_else(|_| Err(Error::Inference("the runtime panicked".to_owned())))
    }
}

fn answer_all(jobs: Vec<Job>, vectors: Vec<Vector>) {
    let mut vectors = vectors.into_iter();
    for job in jobs {
        let batch = vectors.by_ref().take(job.texts.len()).collect();
        answer(job, Ok(batch));
    }
}

fn answer(job: Job, result: Result<Vec<Vector>, Error>) {
    // The caller may no longer wait.
    let _ = job.reply.send(result);
}

/// Lowers the priority of this thread. On Linux niceness is a property of threads, unlike in POSIX.
fn lower_priority() {
    let this_thread = Some(rustix::thread::gettid());
    let lowered = rustix::process::getpriority_process(this_thread)
        .and_then(|niceness| rustix::process::setpriority_process(this_thread, niceness + PASSAGE_NICENESS));
    if let Err(error) = lowered {
        tracing::warn!(%error, "cannot lower the priority of a thread for passages: queries may wait for ingest");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(Some(rustix::thread::gettid())).unwrap()
    }

    #[test]
    fn only_the_calling_threads_priority_is_lowered() {
        let before = niceness();
        let lowered = std::thread::spawn(|| {
            lower_priority();
            niceness()
        });
        // 19 is the lowest priority.
        assert_eq!(lowered.join().unwrap(), (before + PASSAGE_NICENESS).min(19));
        assert_eq!(niceness(), before);
    }
}

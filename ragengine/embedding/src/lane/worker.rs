//! A thread that runs the model.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rten::ThreadPool;

use super::batching::Limits;
use super::queue::{Consumer, Job};
use super::{Failure, Runner};

/// A thread's state. It serves one queue.
pub(super) struct Worker<R: Runner> {
    pub runner: R,
    pub consumer: Consumer<R>,
    /// Jobs run together within these limits. None: each runs alone.
    pub limits: Option<Limits>,
    pub niceness: i32,
}

impl<R: Runner> Worker<R> {
    /// Runs until the queue is closed. The loop runs inside the pool's only thread, so that batches are not handed over
    /// to another thread.
    pub fn run(self) {
        let pool = Arc::new(ThreadPool::with_num_threads(1));
        pool.run(|| {
            if self.niceness > 0 {
                lower_priority(self.niceness);
            }
            while let Some(jobs) = self.consumer.take(self.limits) {
                self.serve(&pool, jobs);
            }
        });
    }

    fn serve(&self, pool: &Arc<ThreadPool>, jobs: Vec<Job<R>>) {
        let texts: Vec<&R::Text> = jobs.iter().flat_map(|job| &job.texts).collect();
        match self.run_model(pool, &texts) {
            Ok(results) => answer_all(jobs, results),
            // Run the jobs separately, so that one job's error does not affect the others.
            Err(_) if jobs.len() > 1 => jobs.into_iter().for_each(|job| self.serve(pool, vec![job])),
            Err(error) => jobs.into_iter().for_each(|job| answer(job, Err(error.clone()))),
        }
    }

    fn run_model(&self, pool: &Arc<ThreadPool>, texts: &[&R::Text]) -> Result<Vec<R::Output>, R::Error> {
        // A panic in the runtime must not end the thread.
        catch_unwind(AssertUnwindSafe(|| self.runner.run(pool, texts)))
            .unwrap_or_else(|_| Err(Failure::Panicked.into()))
    }
}

fn answer_all<R: Runner>(jobs: Vec<Job<R>>, results: Vec<R::Output>) {
    let mut results = results.into_iter();
    for job in jobs {
        let batch = results.by_ref().take(job.texts.len()).collect();
        answer(job, Ok(batch));
    }
}

fn answer<R: Runner>(job: Job<R>, result: Result<Vec<R::Output>, R::Error>) {
    // The caller may no longer wait.
    let _ = job.reply.send(result);
}

/// Lowers the priority of this thread. On Linux niceness is a property of threads, unlike in POSIX.
fn lower_priority(by: i32) {
    let this_thread = Some(rustix::thread::gettid());
    let lowered = rustix::process::getpriority_process(this_thread)
        .and_then(|niceness| rustix::process::setpriority_process(this_thread, niceness + by));
    if let Err(error) = lowered {
        tracing::warn!(%error, "cannot lower the priority of a thread: queries may wait for ingest");
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
            lower_priority(10);
            niceness()
        });
        // 19 is the lowest priority.
        assert_eq!(lowered.join().unwrap(), (before + 10).min(19));
        assert_eq!(niceness(), before);
    }
}

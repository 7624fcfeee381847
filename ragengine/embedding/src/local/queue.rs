//! The bounded queue between asynchronous callers and the threads that embed.

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::batching::{Extent, Limits};
use crate::{Error, Vector};

/// Texts that run together, and where their vectors go.
pub(super) struct Job {
    pub texts: Vec<String>,
    pub reply: oneshot::Sender<Result<Vec<Vector>, Error>>,
}

impl Job {
    fn extent(&self) -> Extent {
        Extent::of(self.texts.iter().map(String::len))
    }

    /// Nobody waits for it any more.
    fn is_cancelled(&self) -> bool {
        self.reply.is_closed()
    }
}

/// The receiving end, for any number of threads.
pub(super) struct Consumer(Mutex<Waiting>);

struct Waiting {
    receiver: mpsc::Receiver<Job>,
    /// Taken from the queue, but not fitting into the batch before it.
    next: Option<Job>,
}

impl Waiting {
    fn wait_for_job(&mut self) -> Option<Job> {
        loop {
            let job = self.next.take().or_else(|| self.receiver.blocking_recv())?;
            if !job.is_cancelled() {
                return Some(job);
            }
        }
    }

    /// The job at the head of the queue, if it fits.
    fn take_if(&mut self, fits: impl FnOnce(&Job) -> bool) -> Option<Job> {
        loop {
            let job = self.next.take().or_else(|| self.receiver.try_recv().ok())?;
            if job.is_cancelled() {
                continue;
            }
            if fits(&job) {
                return Some(job);
            }
            self.next = Some(job);
            return None;
        }
    }
}

/// A queue of at most `capacity` jobs.
pub(super) fn queue(capacity: usize) -> (mpsc::Sender<Job>, Consumer) {
    let (sender, receiver) = mpsc::channel(capacity);
    (sender, Consumer(Mutex::new(Waiting { receiver, next: None })))
}

impl Consumer {
    /// Waits for a job, and takes with it those that wait behind it and fit. `None` when the queue is closed and empty.
    ///
    /// One thread waits in the queue, the others for it: whoever has a job lets the next one in.
    pub fn take(&self, limits: Limits) -> Option<Vec<Job>> {
        let mut waiting = self.0.lock();
        let first = waiting.wait_for_job()?;
        let mut extent = first.extent();
        let mut jobs = vec![first];
        while let Some(job) = waiting.take_if(|job| extent.with(job.extent()).fits(limits)) {
            extent = extent.with(job.extent());
            jobs.push(job);
        }
        Some(jobs)
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
            sender.try_send(job).ok().unwrap();
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
    fn what_nobody_waits_for_is_skipped() {
        let (sender, consumer) = queue(8);
        let (first, first_reply) = job(&["first"]);
        let (second, second_reply) = job(&["second"]);
        let (third, _third_reply) = job(&["third"]);
        let (fourth, fourth_reply) = job(&["fourth"]);
        for job in [first, second, third, fourth] {
            sender.try_send(job).ok().unwrap();
        }
        drop((sender, first_reply, second_reply, fourth_reply));
        assert_eq!(taken(&consumer).unwrap(), [vec!["third"]]);
        assert_eq!(taken(&consumer), None);
    }

    #[test]
    fn a_full_queue_takes_no_more() {
        let (sender, _consumer) = queue(1);
        assert!(sender.try_send(job(&["a"]).0).is_ok());
        assert!(sender.try_send(job(&["b"]).0).is_err());
    }
}

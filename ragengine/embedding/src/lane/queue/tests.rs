use rten::ThreadPool;

use super::*;
use crate::Error;

const LIMITS: Option<Limits> = Some(Limits { max_texts: 4, max_padded_bytes: 10_000 });

#[derive(Clone)]
struct Lengths;

impl Runner for Lengths {
    type Text = String;
    type Output = usize;
    type Error = Error;

    fn length(text: &String) -> usize {
        text.len()
    }

    fn run(&self, _: &Arc<ThreadPool>, texts: &[&String]) -> Result<Vec<usize>, Error> {
        Ok(texts.iter().map(|text| text.len()).collect())
    }
}

type Reply = oneshot::Receiver<Result<Vec<usize>, Error>>;

fn job(texts: &[&str]) -> (Job<Lengths>, Reply) {
    let (reply, receiver) = oneshot::channel();
    (Job { texts: texts.iter().map(|&text| text.to_owned()).collect(), reply }, receiver)
}

fn taken(consumer: &Consumer<Lengths>) -> Option<Vec<Vec<String>>> {
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
fn without_limits_each_job_is_taken_alone() {
    let (sender, consumer) = queue(8);
    let (jobs, _replies): (Vec<_>, Vec<_>) = [&["a"][..], &["b"]].map(job).into_iter().unzip();
    jobs.into_iter().for_each(|job| sender.try_reserve().unwrap().send(job));
    let taken = || consumer.take(None).unwrap().into_iter().map(|job| job.texts).collect::<Vec<_>>();
    assert_eq!([taken(), taken()], [[["a"]], [["b"]]]);
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
    let (sender, _consumer) = queue::<Lengths>(1);
    drop(sender.try_reserve().unwrap());
    assert_eq!(sender.room(), 1);
}

/// Waits until `threads` threads are idle.
fn wait_for_idle(consumer: &Consumer<Lengths>, threads: usize) {
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
            thread::spawn(move || std::iter::from_fn(|| consumer.take(LIMITS)).map(|jobs| jobs.len()).sum::<usize>())
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

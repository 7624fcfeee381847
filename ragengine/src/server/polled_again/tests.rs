use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

/// A waker that counts.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls once a future that wakes itself in its first `wakes` polls. Returns the outcome, the number of polls, and the
/// number of wakes that reached the task.
fn polled_once(wakes: usize) -> (Poll<()>, usize, usize) {
    let (counter, mut polls) = (Arc::new(Counter::default()), 0);
    let outcome = {
        let mut future = pin!(PolledAgain::new(poll_fn(|context| {
            polls += 1;
            if polls > wakes {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })));
        future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&counter))))
    };
    (outcome, polls, counter.0.load(Ordering::Relaxed))
}

#[test]
fn a_future_that_wakes_itself_is_polled_again_without_the_task() {
    assert_eq!(polled_once(0), (Poll::Ready(()), 1, 0));
    assert_eq!(polled_once(3), (Poll::Ready(()), 4, 0));
}

#[test]
fn a_future_that_always_wakes_itself_lets_other_tasks_run() {
    assert_eq!(polled_once(usize::MAX), (Poll::Pending, MOST_POLLS, 1));
}

#[test]
fn a_future_that_lets_other_tasks_run_stays_woken_until_its_next_poll() {
    let counter = Arc::new(Counter::default());
    let task = Waker::from(Arc::clone(&counter));
    let mut polls = 0;
    let mut future = pin!(PolledAgain::new(poll_fn(|context| {
        polls += 1;
        if polls <= MOST_POLLS {
            context.waker().wake_by_ref();
        }
        Poll::<()>::Pending
    })));
    for wakes in [1, 2] {
        assert!(future.as_mut().poll(&mut Context::from_waker(&task)).is_pending());
        future.waker.wake_by_ref();
        // The first poll has already asked for the second, which takes this wake along.
        assert_eq!(counter.0.load(Ordering::Relaxed), wakes);
    }
}

#[test]
fn wakes_between_polls_reach_the_task_once() {
    let counter = Arc::new(Counter::default());
    let mut future = pin!(PolledAgain::new(std::future::pending::<()>()));
    let task = Waker::from(Arc::clone(&counter));
    assert!(future.as_mut().poll(&mut Context::from_waker(&task)).is_pending());
    assert_eq!(counter.0.load(Ordering::Relaxed), 0);
    let inner = future.waker.clone();
    inner.wake_by_ref();
    inner.wake_by_ref();
    assert_eq!(counter.0.load(Ordering::Relaxed), 1);
    assert!(future.as_mut().poll(&mut Context::from_waker(&task)).is_pending());
    inner.wake();
    assert_eq!(counter.0.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_of_another_thread_is_lost() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    let reader = tokio::spawn(PolledAgain::new(async move {
        let mut sum = 0_u64;
        while let Some(number) = receiver.recv().await {
            sum += number;
            tokio::task::yield_now().await;
        }
        sum
    }));
    for number in 0..20_000 {
        sender.send(number).await.unwrap();
    }
    drop(sender);
    let sum = tokio::time::timeout(Duration::from_secs(30), reader).await.unwrap().unwrap();
    assert_eq!(sum, 19_999 * 20_000 / 2);
}

//! A future that is polled again at once if it wakes itself.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use pin_project_lite::pin_project;

/// The most polls in a row, after which other tasks get a turn.
const MOST_POLLS: usize = 8;

/// Nothing has woken the future since its last poll ended.
const IDLE: u8 = 0;
/// The future is being polled.
const POLLING: u8 = 1;
/// Something has woken the future, and it has not been polled since.
const WOKEN: u8 = 2;

pin_project! {
    /// Polls a future again if it was woken while it was polled.
    ///
    /// A connection wakes itself when it has read a request's body, for the handler that is polled in the same task.
    /// tokio puts such a task at the end of its queue and wakes another thread for it, which costs more than a tenth of
    /// a passed-through chat.
    pub struct PolledAgain<F> {
        #[pin]
        future: F,
        wakes: Arc<Wakes>,
        waker: Waker,
    }
}

impl<F> PolledAgain<F> {
    /// Wraps a future.
    pub fn new(future: F) -> Self {
        let wakes = Arc::new(Wakes { state: AtomicU8::new(IDLE), task: AtomicWaker::new() });
        let waker = Waker::from(Arc::clone(&wakes));
        Self { future, wakes, waker }
    }
}

impl<F: Future> Future for PolledAgain<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        this.wakes.task.register(context.waker());
        for _ in 0..MOST_POLLS {
            this.wakes.begins();
            let polled = this.future.as_mut().poll(&mut Context::from_waker(this.waker));
            if polled.is_ready() || this.wakes.becomes_idle() {
                return polled;
            }
        }
        // The future stays woken until its next poll, which the task is asked for here.
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Who is told when the future is woken.
///
/// Each change of the state reads it, too, with `AcqRel`. So a poll sees what was written before every wake that it
/// answers, also before those that found the future woken or being polled and did nothing else.
struct Wakes {
    state: AtomicU8,
    task: AtomicWaker,
}

impl Wakes {
    /// Begins a poll. A swap, because a store would replace a wake without seeing what was written before it: that wake
    /// would be answered by a poll that does not find its reason, on a processor with a weak memory model.
    fn begins(&self) {
        self.state.swap(POLLING, Ordering::AcqRel);
    }

    /// Ends a poll. False if something woke the future meanwhile.
    fn becomes_idle(&self) -> bool {
        self.state.compare_exchange(POLLING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == IDLE {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests;

//! Bounds the work on one document: by time, and by whether the client is still connected.

use std::cell::Cell;
use std::time::Duration;

use ragengine_compute::Waiter;
use rustix::time::{ClockId, clock_gettime};

/// Steps between two checks of the clock: less than a millisecond of counting tokens.
const STEPS_PER_LOOK: u64 = 1 << 12;

/// Why the work on a document was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The time is up.
    #[error("splitting it exceeded the time limit")]
    Late,
    /// The client that sent it has disconnected.
    #[error("the client has disconnected")]
    Unwanted,
}

/// Counts the steps of the work on one document, and regularly checks whether it should continue.
///
/// A step is an element that is visited, or a byte whose tokens are counted. Every loop over a document's content
/// counts its steps.
///
/// The time is the processor time of the thread, on which all of the work is done. So a document is not too slow
/// because the machine stood still or was busy.
#[derive(Debug)]
pub struct Work {
    caller: Waiter,
    until: Option<Duration>,
    steps: Cell<u64>,
    next_look: Cell<u64>,
}

impl Work {
    /// Starts the work for a client. Without a time limit it continues until it is done.
    pub fn begin(caller: Waiter, time_limit: Option<Duration>) -> Self {
        let until = time_limit.map(|limit| processor_time().saturating_add(limit));
        Self { caller, until, steps: Cell::new(0), next_look: Cell::new(0) }
    }

    /// Counts steps before they are done.
    ///
    /// # Errors
    ///
    /// [`Stopped`] if the time is up or the client has disconnected.
    pub fn step(&self, steps: usize) -> Result<(), Stopped> {
        let total = self.steps.get() + steps as u64;
        self.steps.set(total);
        if total < self.next_look.get() {
            return Ok(());
        }
        self.next_look.set(total + STEPS_PER_LOOK);
        if self.caller.has_left() {
            return Err(Stopped::Unwanted);
        }
        match self.until {
            Some(until) if processor_time() >= until => Err(Stopped::Late),
            _ => Ok(()),
        }
    }

    /// The number of steps so far.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }
}

/// The processor time of this thread.
pub(super) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_takes_time() {
        let work = Work::begin(Waiter::default(), Some(Duration::from_millis(20)));
        std::thread::sleep(Duration::from_millis(40));
        assert_eq!(work.step(1), Ok(()));
        let stopped = std::iter::repeat_with(|| work.step(STEPS_PER_LOOK as usize)).find_map(Result::err);
        assert_eq!(stopped, Some(Stopped::Late));
    }
}

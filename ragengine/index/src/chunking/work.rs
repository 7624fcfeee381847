//! How long a document may be worked on, and for whom.

use std::cell::Cell;
use std::time::{Duration, Instant};

use ragengine_compute::Waiter;

/// Steps between two looks at the clock: less than a millisecond of counting tokens.
const STEPS_PER_LOOK: u64 = 1 << 12;

/// Why work on a document ended before it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// It has had its time.
    #[error("it takes longer to cut than it may")]
    Late,
    /// Whoever sent it has left.
    #[error("nobody waits for it any more")]
    Unwanted,
}

/// The work on one document: its steps are counted, and every few of them it is looked whether it goes on.
///
/// A step is an element that is visited, or a byte whose tokens are counted. No loop over what a document has goes without.
#[derive(Debug)]
pub struct Work {
    caller: Waiter,
    until: Option<Instant>,
    steps: Cell<u64>,
    next_look: Cell<u64>,
}

impl Work {
    /// Work that begins now, for a caller. Without a time limit it ends when it is done.
    pub fn begin(caller: Waiter, time_limit: Option<Duration>) -> Self {
        let until = time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Self { caller, until, steps: Cell::new(0), next_look: Cell::new(0) }
    }

    /// Notes steps before they are done.
    ///
    /// # Errors
    ///
    /// [`Stopped`] when it has had its time, or nobody waits any more.
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
            Some(until) if Instant::now() >= until => Err(Stopped::Late),
            _ => Ok(()),
        }
    }

    /// All steps so far.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }
}

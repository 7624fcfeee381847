//! Runs work that computes or blocks on the disk outside the threads that serve requests. The number of concurrent
//! tasks is limited. Work is cancelled when its caller no longer waits for it.

pub mod blocking;
mod permits;
mod waiter;

pub use permits::{run, run_on_thread, run_write};
use ragengine_errors::{Class, Fault, Logged};
pub use waiter::{Presence, Waiter};

/// The work was not started because the server is shutting down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server is shutting down")]
pub struct ShuttingDown;

impl Fault for ShuttingDown {
    fn class(&self) -> Class {
        Class::Unavailable
    }

    fn kind(&self) -> &'static str {
        "shutting_down"
    }
}

impl Logged for ShuttingDown {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}

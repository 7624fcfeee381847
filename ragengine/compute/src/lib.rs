//! Work that computes or waits for the disk, apart from the threads that serve requests: in turns, of which there are few, and not for
//! somebody who has left.

pub mod blocking;
mod turns;
mod waiter;

use ragengine_errors::{Class, Fault, Logged};
pub use turns::{elsewhere, for_writes, run};
pub use waiter::{Presence, Waiter};

/// The work was not begun, because the server stops.
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

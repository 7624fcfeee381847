use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells running work whether its caller still waits for the result. It can be sent to other threads. [`Presence`] is
/// the caller's end.
#[derive(Debug, Clone, Default)]
pub struct Waiter(Arc<AtomicBool>);

impl Waiter {
    /// Whether the caller no longer waits, for example because the client has disconnected.
    pub fn has_left(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Held by the caller. Dropping it tells the work that the caller no longer waits.
#[derive(Debug, Default)]
pub struct Presence(Waiter);

impl Presence {
    /// The work's end.
    pub fn waiter(&self) -> Waiter {
        self.0.clone()
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

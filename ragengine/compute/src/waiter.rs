use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whoever waits for what is computed, as the work sees it. It crosses threads; [`Presence`] is the other end.
#[derive(Debug, Clone, Default)]
pub struct Waiter(Arc<AtomicBool>);

impl Waiter {
    /// Whether nobody waits any more.
    pub fn has_left(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Held by whoever waits. When it is dropped, the waiter has left.
#[derive(Debug, Default)]
pub struct Presence(Waiter);

impl Presence {
    /// What the work looks at.
    pub fn waiter(&self) -> Waiter {
        self.0.clone()
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

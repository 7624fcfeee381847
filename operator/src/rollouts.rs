//! Limits how many engines roll out at the same time because the operator has changed: its image, its defaults, or the
//! objects it builds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long an engine may occupy a slot, so that an engine which does not become ready cannot block the others.
const LIMIT: Duration = Duration::from_secs(600);

/// The slots of the engines that are rolling out. Clones share the same slots.
#[derive(Debug, Clone)]
pub struct Rollouts {
    max: usize,
    places: Arc<Mutex<HashMap<String, Instant>>>,
}

impl Rollouts {
    /// At most `max` engines at a time.
    pub fn new(max: usize) -> Self {
        Self { max, places: Arc::default() }
    }

    /// Takes a slot for the engine of this uid, unless it already has one.
    ///
    /// # Errors
    ///
    /// The number of engines that occupy the slots, if none is free.
    pub fn begin(&self, uid: &str) -> Result<(), usize> {
        let mut places = self.places.lock();
        places.retain(|_, since| since.elapsed() < LIMIT);
        if places.contains_key(uid) {
            return Ok(());
        }
        if places.len() >= self.max {
            return Err(places.len());
        }
        places.insert(uid.to_owned(), Instant::now());
        Ok(())
    }

    /// Frees the slot of an engine that is done or deleted.
    pub fn end(&self, uid: &str) {
        self.places.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slot_is_freed_when_its_engine_is_done_or_takes_too_long() {
        let rollouts = Rollouts::new(2);
        assert_eq!([rollouts.begin("a"), rollouts.begin("b"), rollouts.begin("c")], [Ok(()), Ok(()), Err(2)]);
        assert_eq!(rollouts.clone().begin("a"), Ok(()), "it already has a slot");
        rollouts.end("a");
        rollouts.end("unknown");
        assert_eq!([rollouts.begin("c"), rollouts.begin("a")], [Ok(()), Err(2)]);
        tokio::time::advance(LIMIT / 2).await;
        rollouts.end("c");
        assert_eq!(rollouts.begin("d"), Ok(()));
        tokio::time::advance(LIMIT / 2).await;
        assert_eq!([rollouts.begin("e"), rollouts.begin("f")], [Ok(()), Err(2)], "the slot of b has expired");
    }
}

//! How many engines are rolled at a time because the operator is another one: its image, its defaults, what it makes of a specification.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long an engine keeps its place: one that does not come up again must not keep the others from their turn.
const LIMIT: Duration = Duration::from_secs(600);

/// The places of the engines that are being rolled; a copy has the same ones.
#[derive(Debug, Clone)]
pub struct Rollouts {
    max: usize,
    places: Arc<Mutex<HashMap<String, Instant>>>,
}

impl Rollouts {
    /// So many at a time.
    pub fn new(max: usize) -> Self {
        Self { max, places: Arc::default() }
    }

    /// Takes a place for the engine of this uid, unless it has one. None is free: how many others have one.
    ///
    /// # Errors
    ///
    /// The number of the others.
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

    /// The engine is as it was asked to be, or gone: its place is free.
    pub fn end(&self, uid: &str) {
        self.places.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_again_when_its_engine_is_done_or_takes_too_long() {
        let rollouts = Rollouts::new(2);
        assert_eq!([rollouts.begin("a"), rollouts.begin("b"), rollouts.begin("c")], [Ok(()), Ok(()), Err(2)]);
        assert_eq!(rollouts.clone().begin("a"), Ok(()), "it has one");
        rollouts.end("a");
        rollouts.end("nobody");
        assert_eq!([rollouts.begin("c"), rollouts.begin("a")], [Ok(()), Err(2)]);
        tokio::time::advance(LIMIT / 2).await;
        rollouts.end("c");
        assert_eq!(rollouts.begin("d"), Ok(()));
        tokio::time::advance(LIMIT / 2).await;
        assert_eq!([rollouts.begin("e"), rollouts.begin("f")], [Ok(()), Err(2)], "the time of b is over");
    }
}

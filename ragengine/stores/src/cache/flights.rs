//! Equal questions at the same time: one asks, the others wait for its answer.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::{CacheKey, Epoch};

/// The questions that are being answered in this process. There are at most as many as requests at the same time.
///
/// A caller first looks up the answer, and joins when there is none. Another one may have stored it in between. So the
/// leader [looks it up again](super::ResponseCache::look_up_again) before it asks the model, and stores its answer
/// before it is done.
pub struct Flights<T> {
    flights: Arc<Mutex<HashMap<Name, Waiting<T>>>>,
}

/// What is being answered. An answer of one epoch is not for those who ask after a purge.
type Name = (CacheKey, Option<Epoch>);

/// Those who wait for the leader of a flight, in the order in which they came.
type Waiting<T> = VecDeque<oneshot::Sender<Landed<T>>>;

/// The part of a caller in a flight.
pub enum Flight<T> {
    /// It asks the model.
    Leader(Leader<T>),
    /// Another one does.
    Follower(Follower<T>),
}

/// The one that asks the model. If it is dropped before it is [done](Self::done), such as when its client leaves, the
/// follower that has waited longest leads next.
#[must_use = "when it is dropped, another one asks"]
pub struct Leader<T> {
    flights: Arc<Mutex<HashMap<Name, Waiting<T>>>>,
    /// None when it is done.
    name: Option<Name>,
}

/// One that waits. If it is dropped, the others are not concerned.
#[must_use = "the answer comes to those who wait"]
pub struct Follower<T> {
    landed: oneshot::Receiver<Landed<T>>,
}

/// How a follower goes on.
pub enum Landed<T> {
    /// With the leader's answer.
    Answer(Arc<T>),
    /// It asks the model for itself: there is no answer for others, or the time is over.
    Alone,
    /// It leads, and asks the model for those who still wait.
    Lead(Leader<T>),
}

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self { flights: Arc::default() }
    }
}

impl<T> Flights<T> {
    /// Joins the flight of a key, or begins it. `epoch` is that of the look-up, none if it failed.
    pub fn join(&self, key: &CacheKey, epoch: Option<Epoch>) -> Flight<T> {
        let name = (key.clone(), epoch);
        let mut flights = self.flights.lock();
        if let Some(waiting) = flights.get_mut(&name) {
            if waiting.len() == waiting.capacity() {
                // Rather than growing, those go who do not wait any more.
                waiting.retain(|follower| !follower.is_closed());
            }
            let (follower, landed) = oneshot::channel();
            waiting.push_back(follower);
            return Flight::Follower(Follower { landed });
        }
        flights.insert(name.clone(), Waiting::new());
        drop(flights);
        Flight::Leader(Leader { flights: Arc::clone(&self.flights), name: Some(name) })
    }

    /// Whether no question is being answered.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.flights.lock().is_empty()
    }
}

impl<T> Leader<T> {
    /// Ends the flight. All who wait get the answer. With none, such as one that is not for others, they go on alone,
    /// and do not wait for each other.
    pub fn done(mut self, answer: Option<Arc<T>>) {
        let Some(name) = self.name.take() else { return };
        let waiting = self.flights.lock().remove(&name);
        for follower in waiting.into_iter().flatten() {
            // One that has left needs no answer.
            drop(follower.send(match &answer {
                Some(answer) => Landed::Answer(Arc::clone(answer)),
                None => Landed::Alone,
            }));
        }
    }
}

impl<T> Drop for Leader<T> {
    fn drop(&mut self) {
        let Some(mut name) = self.name.take() else { return };
        loop {
            let mut flights = self.flights.lock();
            let Some(follower) = flights.get_mut(&name).and_then(Waiting::pop_front) else {
                flights.remove(&name);
                return;
            };
            // The flight stays in the map while its lead is handed over, so that no other caller begins another one.
            drop(flights);
            let next = Self { flights: Arc::clone(&self.flights), name: Some(name) };
            match follower.send(Landed::Lead(next)) {
                // If that one leaves without having read it, the lead is dropped, and handed over again.
                Ok(()) => return,
                Err(Landed::Lead(mut returned)) => match returned.name.take() {
                    Some(returned) => name = returned,
                    None => return,
                },
                Err(Landed::Answer(_) | Landed::Alone) => return,
            }
        }
    }
}

impl<T> Follower<T> {
    /// Waits until the leader is done, but not longer than this.
    pub async fn landed(self, until: Instant) -> Landed<T> {
        match timeout_at(until, self.landed).await {
            Ok(Ok(landed)) => landed,
            // Late, or the flights are gone.
            Ok(Err(_)) | Err(_) => Landed::Alone,
        }
    }
}

#[cfg(test)]
mod tests;

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::EventMetrics;
use crate::buffer::{Buffer, Refused};
use crate::failure::{Cause, Failure};
use crate::link::Verdict;
use crate::message::Message;

/// What is known, shared by publishers and the background task.
pub(crate) struct State {
    known: Mutex<Known>,
    /// There is an event to send.
    pub arrived: Notify,
    /// The last event has left the buffer.
    pub emptied: Notify,
    metrics: EventMetrics,
}

struct Known {
    buffer: Buffer,
    /// Whether new events are taken.
    is_open: bool,
    /// Whether events had to be dropped since the last confirmation.
    drops: bool,
    failure: Option<Failure>,
}

impl State {
    pub fn new(metrics: EventMetrics) -> Self {
        metrics.begin();
        let known = Known { buffer: Buffer::default(), is_open: true, drops: false, failure: None };
        Self { known: Mutex::new(known), arrived: Notify::new(), emptied: Notify::new(), metrics }
    }

    /// Adds an event.
    pub fn push(&self, message: Message) {
        let mut known = self.known.lock();
        if !known.is_open {
            self.metrics.count(message.name, "dropped");
            return;
        }
        let dropped = known.buffer.push(message);
        if !dropped.is_empty() {
            self.count_all(&dropped, "dropped");
            if !known.drops {
                warn!("events are dropped, the oldest first: too many wait for RabbitMQ, or one is too large");
            }
            known.drops = true;
        }
        self.has_changed(&known);
        self.arrived.notify_one();
    }

    /// The next event to send, with its number.
    pub fn send_next(&self) -> Option<(u64, Arc<Message>)> {
        self.known.lock().buffer.send_next()
    }

    /// The server has confirmed or refused an event.
    pub fn judged(&self, number: u64, verdict: Verdict) {
        let mut known = self.known.lock();
        if verdict == Verdict::Refused {
            let refused = known.buffer.refuse(number);
            self.has_refused(&refused);
        } else {
            // Otherwise it was dropped before, and has been counted.
            if let Some(message) = known.buffer.confirm(number) {
                let outcome = if verdict == Verdict::Taken { "confirmed" } else { "unrouted" };
                self.metrics.count(message.name, outcome);
            }
            known.drops = false;
            known.recovered();
        }
        self.has_changed(&known);
    }

    /// There is a connection.
    pub fn is_connected(&self) {
        self.metrics.set_connected(true);
        let mut known = self.known.lock();
        // Otherwise a confirmation must show it, if any event waits.
        let is_over = known.failure.as_ref().is_some_and(|failure| failure.cause == Cause::Connection);
        if is_over || known.buffer.len() == 0 {
            known.recovered();
        }
    }

    /// The connection was lost, or could not be made.
    pub fn is_down(&self, failure: Failure) {
        self.metrics.set_connected(false);
        let mut known = self.known.lock();
        if failure.cause == Cause::Event {
            let refused = known.buffer.refuse_sent();
            self.has_refused(&refused);
        } else {
            let again = known.buffer.send_again();
            again.iter().for_each(|message| self.metrics.count_again(message.name));
        }
        if known.failure.as_ref() != Some(&failure) {
            let problem = &failure.words;
            warn!(problem, "events cannot be published on RabbitMQ: they wait, and it is tried again");
        }
        known.failure = Some(failure);
        self.has_changed(&known);
    }

    /// What is wrong now, in words for people.
    pub fn problem(&self) -> Option<String> {
        self.known.lock().failure.as_ref().map(|failure| failure.words.clone())
    }

    /// Takes no more events.
    pub fn close(&self) {
        self.known.lock().is_open = false;
    }

    pub fn is_empty(&self) -> bool {
        self.known.lock().buffer.len() == 0
    }

    /// Drops all events. Returns their number.
    pub fn drop_all(&self) -> usize {
        let mut known = self.known.lock();
        let dropped = known.buffer.drain();
        self.count_all(&dropped, "dropped");
        self.has_changed(&known);
        self.metrics.set_connected(false);
        dropped.len()
    }

    fn has_refused(&self, refused: &Refused) {
        refused.again.iter().for_each(|message| self.metrics.count_again(message.name));
        self.count_all(&refused.given_up, "refused");
        for message in &refused.given_up {
            warn!(id = message.id, bytes = message.body.len(), "RabbitMQ refused an event too often: it is dropped");
        }
    }

    fn count_all(&self, messages: &[Arc<Message>], outcome: &str) {
        messages.iter().for_each(|message| self.metrics.count(message.name, outcome));
    }

    fn has_changed(&self, known: &Known) {
        let waiting = known.buffer.len();
        self.metrics.set_waiting(waiting);
        if waiting == 0 {
            self.emptied.notify_waiters();
        }
    }
}

impl Known {
    fn recovered(&mut self) {
        if self.failure.take().is_some() {
            info!("events are published on RabbitMQ again");
        }
    }
}

//! The events that wait: to be sent, or to be confirmed. Without I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::message::Message;

/// The largest number of events that wait.
pub(crate) const MOST_EVENTS: usize = 1_000;

/// The largest memory of the events that wait, in bytes.
const MOST_BYTES: usize = 64 * 1_024 * 1_024;

/// The largest event, in bytes. RabbitMQ 4 refuses a larger one, unless it is configured otherwise.
const LARGEST_BYTES: usize = 16 * 1_024 * 1_024;

/// How often the server may say that it could not take an event, for example because a queue is full.
const MOST_NEGATIVES: u32 = 10;

/// How often the server may close the connection because of an event. Only the first time can it be another event's.
const MOST_CLOSURES: u32 = 3;

/// The events that wait, in their order.
///
/// When the server closes the connection because of an event, it does not say which one. So events that have been
/// refused are sent alone: no other event without a confirmation is on its way then.
#[derive(Default)]
pub(crate) struct Buffer {
    waiting: BTreeMap<u64, Waiting>,
    bytes: usize,
    next_number: u64,
}

struct Waiting {
    message: Arc<Message>,
    refusals: u32,
    /// Whether it is on its way to the server.
    is_sent: bool,
}

/// Events that leave the buffer, or will be sent again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Will be sent again.
    pub again: Vec<Arc<Message>>,
    /// Refused too often.
    pub given_up: Vec<Arc<Message>>,
}

impl Buffer {
    /// Adds an event. Returns those that had to go: the oldest, or the event itself if it is too large.
    pub fn push(&mut self, message: Message) -> Vec<Arc<Message>> {
        let message = Arc::new(message);
        if message.bytes() > LARGEST_BYTES {
            return vec![message];
        }
        let mut dropped = Vec::new();
        while self.waiting.len() >= MOST_EVENTS || self.bytes + message.bytes() > MOST_BYTES {
            let Some((_, oldest)) = self.waiting.pop_first() else { break };
            self.bytes -= oldest.message.bytes();
            dropped.push(oldest.message);
        }
        self.bytes += message.bytes();
        self.waiting.insert(self.next_number, Waiting { message, refusals: 0, is_sent: false });
        self.next_number += 1;
        dropped
    }

    /// The next event that may be sent, with its number. It counts as sent then.
    pub fn send_next(&mut self) -> Option<(u64, Arc<Message>)> {
        let mut is_any_sent = false;
        for (number, waiting) in &mut self.waiting {
            let is_alone = waiting.refusals > 0;
            if waiting.is_sent && !is_alone {
                is_any_sent = true;
            } else if waiting.is_sent || (is_alone && is_any_sent) {
                return None;
            } else {
                waiting.is_sent = true;
                return Some((*number, Arc::clone(&waiting.message)));
            }
        }
        None
    }

    /// Removes an event that the server confirmed. None if it was dropped before.
    pub fn confirm(&mut self, number: u64) -> Option<Arc<Message>> {
        let confirmed = self.waiting.remove(&number)?;
        self.bytes -= confirmed.message.bytes();
        Some(confirmed.message)
    }

    /// The server could not take an event.
    pub fn refuse(&mut self, number: u64) -> Refused {
        self.refuse_all(vec![number], MOST_NEGATIVES)
    }

    /// The server closed the connection because of one of the events that are on their way.
    pub fn refuse_sent(&mut self) -> Refused {
        let sent = self.waiting.iter().filter(|(_, waiting)| waiting.is_sent);
        let numbers = sent.map(|(number, _)| *number).collect();
        self.refuse_all(numbers, MOST_CLOSURES)
    }

    /// The connection was lost. Returns the events that will be sent again.
    pub fn send_again(&mut self) -> Vec<Arc<Message>> {
        let sent = self.waiting.values_mut().filter(|waiting| waiting.is_sent);
        sent.map(|waiting| {
            waiting.is_sent = false;
            Arc::clone(&waiting.message)
        })
        .collect()
    }

    /// Removes and returns all events.
    pub fn drain(&mut self) -> Vec<Arc<Message>> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting).into_values().map(|waiting| waiting.message).collect()
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    fn refuse_all(&mut self, numbers: Vec<u64>, most: u32) -> Refused {
        let mut refused = Refused::default();
        for number in numbers {
            let Some(waiting) = self.waiting.get_mut(&number) else { continue };
            waiting.refusals += 1;
            waiting.is_sent = false;
            if waiting.refusals < most {
                refused.again.push(Arc::clone(&waiting.message));
            } else {
                refused.given_up.extend(self.confirm(number));
            }
        }
        refused
    }
}

#[cfg(test)]
mod tests;

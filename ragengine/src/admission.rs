//! Who is let in: of each kind of work so many requests run, so many wait for their turn, and one more is told to come again.
//!
//! Bodies are read before a request gets into the queue: one that arrives slowly takes nobody's place. What they may hold together is
//! bounded apart.

mod bodies;
mod gate;

use std::sync::Arc;
use std::time::Duration;

use bodies::Bodies;
pub use bodies::{BodyError, Held, discard};
pub use gate::{Gate, Permit};
use ragengine_errors::{Class, Fault, Logged, RetryAfter};
use ragengine_settings::Limits;

use crate::telemetry::metrics::Metrics;

/// A kind of work. Each has a queue of its own, so that none waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Retrieving, listing, embedding.
    Read,
    /// A chat, until the language model is asked.
    Chat,
    /// Changing something.
    Write,
}

impl Work {
    /// Its name in labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Chat => "chat",
            Self::Write => "write",
        }
    }

    fn waiting_setting(self) -> &'static str {
        match self {
            Self::Read => "limits.maxWaitingReads",
            Self::Chat => "limits.maxWaitingChats",
            Self::Write => "limits.maxWaitingWrites",
        }
    }

    fn timeout_setting(self) -> &'static str {
        match self {
            Self::Read | Self::Chat => "limits.readTimeoutSeconds",
            Self::Write => "limits.writeTimeoutSeconds",
        }
    }
}

/// Why a request was not let in, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The queue is full.
    #[error("the server is busy: {waiting} requests wait already. Send it again in a moment, or raise {setting}")]
    QueueFull {
        /// How many may wait.
        waiting: u32,
        /// The setting that says so.
        setting: &'static str,
    },
    /// The bodies of other requests fill what there is for them.
    #[error(
        "the server is busy: the bodies of other requests take {max_bytes} bytes already. Send it again in a moment, or raise \
         limits.maxBodiesBytes"
    )]
    BodiesFull {
        /// What bodies may take together.
        max_bytes: u64,
    },
    /// Its turn did not come in time.
    #[error(
        "the server is busy: the request waited {seconds} s for its turn ({setting}). Nothing was done: send it again in a moment"
    )]
    WaitedTooLong {
        /// How long it may take, in seconds.
        seconds: u64,
        /// The setting that says so.
        setting: &'static str,
    },
    /// It was begun, and not done in time.
    #[error("the request was not done within {seconds} s ({setting}){}", what_is_left(*.work))]
    Late {
        /// What it was.
        work: Work,
        /// How long it may take, in seconds.
        seconds: u64,
        /// The setting that says so.
        setting: &'static str,
    },
}

fn what_is_left(work: Work) -> &'static str {
    match work {
        Work::Write => ": what it asked for may be done all the same. It may be sent again",
        Work::Read | Work::Chat => "",
    }
}

impl Fault for Refused {
    fn class(&self) -> Class {
        match self {
            Self::QueueFull { .. } | Self::BodiesFull { .. } => Class::Busy,
            Self::WaitedTooLong { .. } => Class::Unavailable,
            Self::Late { .. } => Class::Late,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::QueueFull { .. } => "queue_full",
            Self::BodiesFull { .. } => "bodies_full",
            Self::WaitedTooLong { .. } => "waited_too_long",
            Self::Late { .. } => "late",
        }
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        (!matches!(self, Self::Late { .. })).then_some(RetryAfter::Seconds(1))
    }
}

impl Logged for Refused {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// The queues, and the room for bodies.
pub struct Admission {
    read: Gate,
    chat: Gate,
    write: Gate,
    bodies: Bodies,
    read_timeout: Duration,
    write_timeout: Duration,
    metrics: Arc<Metrics>,
}

impl Admission {
    /// What the settings say.
    pub fn new(limits: &Limits, metrics: Arc<Metrics>) -> Self {
        let gate = |work: Work, running, waiting| Gate::new(work.label(), running, waiting, &metrics.admission);
        Self {
            read: gate(Work::Read, limits.max_running_reads, limits.max_waiting_reads),
            chat: gate(Work::Chat, limits.max_running_chats, limits.max_waiting_chats),
            write: gate(Work::Write, limits.max_running_writes, limits.max_waiting_writes),
            bodies: Bodies::new(limits, &metrics.admission),
            read_timeout: Duration::from_secs(limits.read_timeout_seconds),
            write_timeout: Duration::from_secs(limits.write_timeout_seconds),
            metrics,
        }
    }

    /// The room for bodies.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Waits for a turn. Who stops waiting leaves the queue.
    ///
    /// # Errors
    ///
    /// [`Refused::QueueFull`], or [`Refused::WaitedTooLong`].
    pub async fn turn(&self, work: Work) -> Result<Permit, Refused> {
        let gate = match work {
            Work::Read => &self.read,
            Work::Chat => &self.chat,
            Work::Write => &self.write,
        };
        let full = || Refused::QueueFull { waiting: gate.max_waiting(), setting: work.waiting_setting() };
        let place = gate.queue().ok_or_else(full)?;
        let limit = self.timeout(work);
        tokio::time::timeout(limit, gate.turn(place))
            .await
            .map_err(|_| Refused::WaitedTooLong { seconds: limit.as_secs(), setting: work.timeout_setting() })
    }

    /// Does the work, unless it takes too long: it is dropped then.
    ///
    /// # Errors
    ///
    /// [`Refused::Late`].
    pub async fn in_time<T>(&self, work: Work, doing: impl Future<Output = T>) -> Result<T, Refused> {
        let limit = self.timeout(work);
        tokio::time::timeout(limit, doing).await.map_err(|_| Refused::Late {
            work,
            seconds: limit.as_secs(),
            setting: work.timeout_setting(),
        })
    }

    /// Counts one that was refused.
    pub fn refused(&self, work: Work, refused: &Refused) {
        self.metrics.admission.refused(work.label(), refused.kind());
    }

    fn timeout(&self, work: Work) -> Duration {
        match work {
            Work::Read | Work::Chat => self.read_timeout,
            Work::Write => self.write_timeout,
        }
    }
}

#[cfg(test)]
mod tests;

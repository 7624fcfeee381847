//! Admission control. Each kind of work has a limit of running and of waiting requests; further requests get a 429.
//!
//! A body is read before its request enters the queue, so that a slow upload does not block others. A separate limit
//! bounds the memory of all bodies.

mod bodies;
mod gate;

use std::sync::Arc;
use std::time::Duration;

use bodies::Bodies;
pub use bodies::{BodyError, Held, discard};
pub use gate::{Gate, Permit};
use ragengine_errors::{Class, Fault, Logged, RetryAfter};
use ragengine_settings::Limits;
use tokio::time::Instant;

use crate::telemetry::metrics::Metrics;

/// A kind of work. Each has a separate queue, so that it does not wait for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Retrieving, listing, embedding.
    Read,
    /// Preparing a chat, until its request to the language model.
    Chat,
    /// Changing an index.
    Write,
}

impl Work {
    /// The name for metric labels.
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

/// The deadline for the work on a request.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    work: Work,
    limit: Duration,
    /// `None`: too far away for the clock.
    at: Option<Instant>,
}

impl Deadline {
    /// Runs a part of the work, and drops it at the deadline.
    ///
    /// # Errors
    ///
    /// [`Refused::Late`].
    pub async fn keep<T>(&self, doing: impl Future<Output = T>) -> Result<T, Refused> {
        let Some(at) = self.at else { return Ok(doing.await) };
        let late =
            |_| Refused::Late { work: self.work, seconds: self.limit.as_secs(), setting: self.work.timeout_setting() };
        tokio::time::timeout_at(at, doing).await.map_err(late)
    }
}

/// Why a request was refused or stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The queue is full.
    #[error("the server is busy: {waiting} requests are already waiting. Retry in a moment, or raise {setting}")]
    QueueFull {
        /// The limit of waiting requests.
        waiting: u32,
        /// The setting of the limit.
        setting: &'static str,
    },
    /// Request bodies use all the memory for them.
    #[error(
        "the server is busy: request bodies may use {max_bytes} bytes in total. Retry in a moment, or raise \
         limits.maxBodiesBytes"
    )]
    BodiesFull {
        /// The limit for all bodies, in bytes.
        max_bytes: u64,
    },
    /// The request waited too long in the queue.
    #[error("the server is busy: the request waited {seconds} s ({setting}) and was not started. Retry in a moment")]
    WaitedTooLong {
        /// The timeout, in seconds.
        seconds: u64,
        /// The setting of the timeout.
        setting: &'static str,
    },
    /// The request was started but did not finish in time.
    #[error("the request did not finish within {seconds} s ({setting}){}", effect_of_timeout(*.work))]
    Late {
        /// The kind of work.
        work: Work,
        /// The timeout, in seconds.
        seconds: u64,
        /// The setting of the timeout.
        setting: &'static str,
    },
}

fn effect_of_timeout(work: Work) -> &'static str {
    match work {
        Work::Write => ": it may still take effect, and can be retried",
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

/// The queues, and the memory for bodies.
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
    /// Creates the queues with the limits of the settings.
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

    /// The memory for bodies.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Waits for a turn. Dropping the future leaves the queue.
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

    /// Runs the work, and drops it at the timeout.
    ///
    /// # Errors
    ///
    /// [`Refused::Late`].
    pub async fn in_time<T>(&self, work: Work, doing: impl Future<Output = T>) -> Result<T, Refused> {
        self.deadline(work).keep(doing).await
    }

    /// The deadline for work that starts now.
    pub fn deadline(&self, work: Work) -> Deadline {
        let limit = self.timeout(work);
        Deadline { work, limit, at: Instant::now().checked_add(limit) }
    }

    /// Counts a refused request.
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

//! The classes of errors, and what the log may contain of them.

use ragengine_errors::{Class, Fault, Logged, RetryAfter, texts};

use crate::VectorDatabaseError;

/// The database is asked again after this time, in seconds.
const RETRY_SECONDS: u32 = 5;

impl Fault for VectorDatabaseError {
    fn class(&self) -> Class {
        match self {
            Self::Unreachable(_)
            | Self::Timeout
            | Self::Unavailable { .. }
            | Self::NotStored { .. }
            | Self::NotDeleted(_)
            | Self::ReplicaMissing => Class::Unavailable,
            Self::Refused { .. }
            | Self::Query(_)
            | Self::LongReply { .. }
            | Self::Reply(_)
            | Self::Version { .. }
            | Self::Unowned(_)
            | Self::Vector => Class::Upstream,
            Self::NoSuchIndex(_) => Class::NotFound,
            Self::LongName(_)
            | Self::ManyValues { .. }
            | Self::LongValues { .. }
            | Self::LongComparison { .. }
            | Self::ManyConditions { .. } => Class::Invalid,
            Self::Setting { .. } => Class::Internal,
        }
    }

    fn kind(&self) -> &'static str {
        self.kind()
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        (self.class() == Class::Unavailable).then_some(RetryAfter::Seconds(RETRY_SECONDS))
    }
}

impl Logged for VectorDatabaseError {
    fn own_words(&self) -> Option<String> {
        match self {
            // Its messages may quote what it was sent.
            Self::Unavailable { status, message } | Self::Refused { status, message } => Some(format!(
                "the vector database answered with status {status} and a message of {}",
                texts::length(message)
            )),
            Self::NotStored { failed, of, reason } => {
                let reason = texts::length(reason);
                Some(format!("the vector database did not store {failed} of {of} objects, with a message of {reason}"))
            }
            Self::Query(_)
            | Self::Reply(_)
            | Self::ManyValues { .. }
            | Self::LongValues { .. }
            | Self::LongComparison { .. }
            | Self::NoSuchIndex(_)
            | Self::LongName(_) => None,
            _ => Some(self.to_string()),
        }
    }
}

//! The classes of a store's errors, and what the log may contain of them.

use ragengine_errors::{Class, Fault, Logged, RetryAfter};

use crate::StoreError;

/// The database is tried again within this time, in seconds.
const RETRY_SECONDS: u32 = 5;

impl Fault for StoreError {
    fn class(&self) -> Class {
        match self {
            Self::NotFound => Class::NotFound,
            Self::Unavailable(_) | Self::Timeout | Self::NewerSchema(_) => Class::Unavailable,
            Self::Full => Class::Full,
            Self::DamagedFile { .. } | Self::Damaged(_) | Self::InUse(_) | Self::Disk(_) | Self::Url { .. } => {
                Class::Internal
            }
        }
    }

    fn kind(&self) -> &'static str {
        self.kind()
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        let helps = matches!(self, Self::Unavailable(_) | Self::Timeout);
        helps.then_some(RetryAfter::Seconds(RETRY_SECONDS))
    }
}

impl Logged for StoreError {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Instant;

use ragengine_access::{Empty, TokenBuckets};
use ragengine_errors::{Class, Fault, Logged, RetryAfter};

use super::Caller;

/// The limit of chats of each caller (`limits.chatsPerMinutePerCaller`).
pub struct Rate(Option<TokenBuckets>);

/// A caller has sent too many chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many chats of this caller: send it again after {} s (limits.chatsPerMinutePerCaller)", .0.retry_after_s)]
pub struct TooMany(Empty);

impl Rate {
    /// This many chats per minute. 0: no limit.
    pub fn new(per_minute: u32) -> Self {
        Self(NonZeroU32::new(per_minute).map(TokenBuckets::new))
    }

    /// Counts a chat of a caller: by its name, or by its address if callers have no names.
    ///
    /// # Errors
    ///
    /// [`TooMany`].
    pub fn take(&self, caller: &Caller, address: Option<IpAddr>) -> Result<(), TooMany> {
        let Some(buckets) = &self.0 else { return Ok(()) };
        let address = address.map(|address| address.to_string());
        let key = caller.logged().or(address.as_deref()).unwrap_or_default();
        buckets.take(key, Instant::now()).map_err(TooMany)
    }
}

impl Fault for TooMany {
    fn class(&self) -> Class {
        Class::Busy
    }

    fn kind(&self) -> &'static str {
        "rate_limit"
    }

    fn retry_after(&self) -> Option<RetryAfter> {
        Some(RetryAfter::Seconds(self.0.retry_after_s))
    }
}

impl Logged for TooMany {
    fn own_words(&self) -> Option<String> {
        Some(self.to_string())
    }
}

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Instant;

use ragengine_access::{Empty, TokenBuckets};
use ragengine_errors::{Class, Fault, Logged, RetryAfter};

use super::Caller;

/// The limit of chats of each caller (`limits.chatsPerMinutePerCaller`).
pub struct Rate(Option<TokenBuckets>);

/// A caller has sent too many chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the caller has sent more chats than limits.chatsPerMinutePerCaller allows: try again in {} s",
    .0.retry_after_s
)]
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
        let address = address.map(|address| network(address).to_string());
        let key = caller.logged().or(address.as_deref()).unwrap_or_default();
        buckets.take(key, Instant::now()).map_err(TooMany)
    }
}

/// The part of an address that its owner cannot choose. A host usually has 2^64 addresses of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address @ IpAddr::V4(_) => address,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_counts_as_one_caller() {
        let network = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(
            (network("::ffff:192.0.2.1"), network("192.0.2.1")),
            ("192.0.2.1".to_owned(), "192.0.2.1".to_owned())
        );
    }
}

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time in which an empty bucket fills.
const FILLING: Duration = Duration::from_secs(60);

/// The buckets at most: about 10 MB.
const MAX_BUCKETS: usize = 100_000;

/// Limits how often each caller may do something: a bucket of N tokens for each, which fills at N a minute. Full
/// buckets are forgotten. If there are too many others, the fullest goes, which gives its caller the least.
pub struct TokenBuckets {
    /// The time in which a bucket gets one token.
    interval: Duration,
    max_buckets: usize,
    /// Hashes with a secret of the process, so that a caller cannot choose a key with the bucket of another caller.
    hasher: RandomState,
    buckets: Mutex<Buckets>,
}

/// When each bucket is full again.
#[derive(Default)]
struct Buckets {
    full_at: HashMap<u64, Instant>,
    in_order: BTreeSet<(Instant, u64)>,
}

/// A bucket is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the caller has sent too many requests: try again in {retry_after_s} s")]
pub struct Empty {
    /// When it has a token again, in seconds from now.
    pub retry_after_s: u32,
}

impl TokenBuckets {
    /// Buckets of this size, which fill in a minute.
    pub fn new(per_minute: NonZeroU32) -> Self {
        Self::with_limit(per_minute, MAX_BUCKETS)
    }

    fn with_limit(per_minute: NonZeroU32, max_buckets: usize) -> Self {
        // More than a thousand million tokens a minute are no limit.
        let interval = (FILLING / per_minute.get()).max(Duration::from_nanos(1));
        Self { interval, max_buckets, hasher: RandomState::new(), buckets: Mutex::default() }
    }

    /// Takes a token from the bucket of `key`, a principal or an address.
    ///
    /// # Errors
    ///
    /// [`Empty`]. Nothing is then taken.
    pub fn take(&self, key: &str, now: Instant) -> Result<(), Empty> {
        let hash = self.hasher.hash_one(key);
        let mut buckets = self.buckets.lock();
        buckets.forget_full(now);
        let before = buckets.full_at.get(&hash).copied();
        let full_at = before.unwrap_or(now).max(now) + self.interval;
        let missing = full_at.saturating_duration_since(now);
        if let Some(wait) = missing.checked_sub(FILLING).filter(|wait| !wait.is_zero()) {
            let seconds = wait.as_nanos().div_ceil(1_000_000_000);
            return Err(Empty { retry_after_s: u32::try_from(seconds).unwrap_or(u32::MAX) });
        }
        match before {
            Some(before) => drop(buckets.in_order.remove(&(before, hash))),
            None if buckets.full_at.len() >= self.max_buckets => buckets.forget_first(),
            None => {}
        }
        buckets.full_at.insert(hash, full_at);
        buckets.in_order.insert((full_at, hash));
        Ok(())
    }
}

impl Buckets {
    fn forget_full(&mut self, now: Instant) {
        while self.in_order.first().is_some_and(|(full_at, _)| *full_at <= now) {
            self.forget_first();
        }
    }

    /// Forgets the fullest bucket.
    fn forget_first(&mut self) {
        if let Some((_, hash)) = self.in_order.pop_first() {
            self.full_at.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn buckets(per_minute: u32, max_buckets: usize) -> TokenBuckets {
        TokenBuckets::with_limit(NonZeroU32::new(per_minute).unwrap(), max_buckets)
    }

    #[test]
    fn a_bucket_empties_and_fills() {
        let (buckets, start) = (buckets(3, 10), Instant::now());
        let take = |key: &str, ms: u64| {
            buckets.take(key, start + Duration::from_millis(ms)).map_err(|empty| empty.retry_after_s)
        };
        assert_eq!([take("ann", 0), take("ann", 0), take("ann", 0)], [Ok(()); 3]);
        assert_eq!([take("ann", 0), take("bob", 0)], [Err(20), Ok(())]);
        assert_eq!([take("ann", 500), take("ann", 19_999)], [Err(20), Err(1)]);
        assert_eq!([take("ann", 20_000), take("ann", 20_000)], [Ok(()), Err(20)]);
        // It never has more than three.
        let later = 1_000_000;
        let taken = [(); 4].map(|()| take("ann", later));
        assert_eq!(taken, [Ok(()), Ok(()), Ok(()), Err(20)]);
    }

    #[test]
    fn full_buckets_are_forgotten_and_then_the_fullest() {
        let (buckets, start) = (buckets(2, 3), Instant::now());
        let take = |key: &str, seconds: u64| buckets.take(key, start + Duration::from_secs(seconds)).is_ok();
        assert!(take("empty", 0) && take("empty", 0) && !take("empty", 0));
        for number in 0..100 {
            assert!(take(&number.to_string(), 1));
        }
        assert_eq!(buckets.buckets.lock().full_at.len(), 3);
        // An attack with many addresses does not fill the bucket of its sender.
        assert!(!take("empty", 1));
        assert!(take("empty", 62));
        let left = buckets.buckets.lock();
        assert_eq!((left.full_at.len(), left.in_order.len()), (1, 1));
    }

    #[test]
    fn any_size_works() {
        let now = Instant::now();
        assert!(buckets(u32::MAX, 1).take("a", now).is_ok());
        let one = buckets(1, 1);
        assert!(one.take("a", now).is_ok());
        assert_eq!(one.take("a", now), Err(Empty { retry_after_s: 60 }));
    }

    proptest! {
        #[test]
        fn no_minute_has_more_than_two_buckets(
            per_minute in 1_u32..20,
            steps in prop::collection::vec((0_u64..5_000, 0_u8..3), 1..200),
        ) {
            let (buckets, start) = (buckets(per_minute, 10), Instant::now());
            let (mut ms, mut taken) = (0, HashMap::<u8, Vec<u64>>::new());
            for (wait, key) in steps {
                ms += wait;
                let at = start + Duration::from_millis(ms);
                match buckets.take(&key.to_string(), at) {
                    Ok(()) => taken.entry(key).or_default().push(ms),
                    Err(empty) => {
                        prop_assert!((1..=60).contains(&empty.retry_after_s));
                    }
                }
                let times = taken.get(&key).map_or(&[][..], Vec::as_slice);
                let in_minute = times.iter().filter(|then| ms - **then < 60_000).count();
                // A full bucket, and what filled it within the minute.
                prop_assert!(in_minute <= 2 * per_minute as usize);
            }
        }

        #[test]
        fn after_the_wait_there_is_a_token(per_minute in 1_u32..1_000, ms in 0_u64..60_000) {
            let (buckets, start) = (buckets(per_minute, 10), Instant::now());
            for _ in 0..per_minute {
                prop_assert!(buckets.take("a", start).is_ok());
            }
            let at = start + Duration::from_millis(ms);
            if let Err(empty) = buckets.take("a", at) {
                let wait = Duration::from_secs(u64::from(empty.retry_after_s));
                prop_assert!(buckets.take("a", at + wait).is_ok());
            }
        }
    }
}

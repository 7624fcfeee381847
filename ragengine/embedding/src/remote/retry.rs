//! Whether and when a request is sent again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::Error;

/// The pause before the second attempt; it doubles from there.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    pub error: Error,
    may_pass: bool,
    retry_after: Option<Duration>,
}

impl Failure {
    /// One that another attempt would only repeat.
    pub fn last(error: Error) -> Self {
        Self { error, may_pass: false, retry_after: None }
    }

    /// One that may be over soon; `retry_after` is the endpoint's own wish.
    pub fn passing(error: Error, retry_after: Option<Duration>) -> Self {
        Self { error, may_pass: true, retry_after }
    }
}

/// How often, and how long to wait at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub max_retries: u32,
    pub max_wait: Duration,
}

impl Policy {
    /// The pause before the next attempt, or `None` to give up. `attempt` counts from 0; `jitter` is in 0..1 and
    /// spreads the pauses over half of their length, so that callers do not come back together.
    pub fn wait(&self, attempt: u32, failure: &Failure, jitter: f64) -> Option<Duration> {
        if !failure.may_pass || attempt >= self.max_retries {
            return None;
        }
        match failure.retry_after {
            Some(wish) => (wish <= self.max_wait).then_some(wish),
            None => {
                let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt)).min(self.max_wait);
                Some(wait.mul_f64(0.5 + jitter / 2.0))
            }
        }
    }
}

/// A number in 0..1. Each `RandomState` has other keys: enough to spread retries.
pub(super) fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy { max_retries: 2, max_wait: Duration::from_secs(20) };

    #[test]
    fn pauses() {
        let passing = |retry_after: Option<u64>| Failure::passing(Error::Stopped, retry_after.map(Duration::from_secs));
        let ms = |ms| Some(Duration::from_millis(ms));
        let cases = [
            (0, passing(None), 0.0, ms(125)),
            (0, passing(None), 1.0, ms(250)),
            (1, passing(None), 1.0, ms(500)),
            (2, passing(None), 1.0, None),
            (0, passing(Some(7)), 0.5, ms(7000)),
            (0, passing(Some(21)), 0.5, None),
            (0, Failure::last(Error::Stopped), 0.5, None),
        ];
        for (attempt, failure, jitter, expected) in cases {
            assert_eq!(POLICY.wait(attempt, &failure, jitter), expected, "{attempt} {failure:?} {jitter}");
        }
        let patient = Policy { max_retries: 100, max_wait: Duration::from_secs(1) };
        assert_eq!(patient.wait(90, &passing(None), 1.0), ms(1000));
    }

    #[test]
    fn jitter_is_spread_within_its_range() {
        let values: Vec<f64> = (0..50).map(|_| jitter()).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        assert!(values.iter().any(|value| *value != values[0]));
    }
}

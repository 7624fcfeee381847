//! The retry policy.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::Error;

/// The wait before the second attempt. It doubles for each further attempt.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    pub error: Error,
    is_temporary: bool,
    retry_after: Option<Duration>,
}

impl Failure {
    /// A permanent failure.
    pub fn permanent(error: Error) -> Self {
        Self { error, is_temporary: false, retry_after: None }
    }

    /// A temporary failure. `retry_after` is the wait that the endpoint requested.
    pub fn temporary(error: Error, retry_after: Option<Duration>) -> Self {
        Self { error, is_temporary: true, retry_after }
    }
}

/// The maximum number of retries, and the maximum wait before each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub max_retries: u32,
    pub max_wait: Duration,
}

impl Policy {
    /// The wait before the next attempt, or `None` to give up. `attempt` counts from 0. `jitter` is in 0..1 and spreads
    /// the waits over half of their length, so that clients do not retry simultaneously.
    pub fn wait(&self, attempt: u32, failure: &Failure, jitter: f64) -> Option<Duration> {
        if !failure.is_temporary || attempt >= self.max_retries {
            return None;
        }
        match failure.retry_after {
            Some(wait) => (wait <= self.max_wait).then_some(wait),
            None => {
                let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(attempt)).min(self.max_wait);
                Some(wait.mul_f64(0.5 + jitter / 2.0))
            }
        }
    }
}

/// A random number in 0..1. The random keys of `RandomState` are sufficient to spread retries.
pub(super) fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy { max_retries: 2, max_wait: Duration::from_secs(20) };

    #[test]
    fn waits_double_and_respect_retry_after() {
        let temporary =
            |retry_after: Option<u64>| Failure::temporary(Error::Stopped, retry_after.map(Duration::from_secs));
        let ms = |ms| Some(Duration::from_millis(ms));
        let cases = [
            (0, temporary(None), 0.0, ms(125)),
            (0, temporary(None), 1.0, ms(250)),
            (1, temporary(None), 1.0, ms(500)),
            (2, temporary(None), 1.0, None),
            (0, temporary(Some(7)), 0.5, ms(7000)),
            (0, temporary(Some(21)), 0.5, None),
            (0, Failure::permanent(Error::Stopped), 0.5, None),
        ];
        for (attempt, failure, jitter, expected) in cases {
            assert_eq!(POLICY.wait(attempt, &failure, jitter), expected, "{attempt} {failure:?} {jitter}");
        }
        let patient = Policy { max_retries: 100, max_wait: Duration::from_secs(1) };
        assert_eq!(patient.wait(90, &temporary(None), 1.0), ms(1000));
    }

    #[test]
    fn jitter_is_spread_within_its_range() {
        let values: Vec<f64> = (0..50).map(|_| jitter()).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        assert!(values.iter().any(|value| *value != values[0]));
    }
}

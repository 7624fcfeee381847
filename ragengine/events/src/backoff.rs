use std::time::Duration;

/// The longest wait before the second attempt.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The waits between failed attempts. Each may be twice as long as the one before.
pub(crate) struct Backoff {
    longest: Duration,
}

impl Backoff {
    pub fn new() -> Self {
        Self { longest: FIRST_WAIT }
    }

    /// The wait before the next attempt. `jitter`, in 0..1, spreads it over half of its length, so that servers do not
    /// all try at the same time.
    pub fn next(&mut self, jitter: f64) -> Duration {
        let longest = self.longest;
        self.longest = (2 * longest).min(LONGEST_WAIT);
        longest.mul_f64(0.5 + jitter / 2.0)
    }

    /// After a success.
    pub fn reset(&mut self) {
        self.longest = FIRST_WAIT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let mut backoff = Backoff::new();
        let waits: Vec<u128> = (0..9).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
        assert_eq!(backoff.next(0.0).as_millis(), 5_000);
        backoff.reset();
        assert_eq!(backoff.next(0.5).as_millis(), 75);
    }
}

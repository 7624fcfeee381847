//! Times with the resolution of Kubernetes, and the back-off of Jobs.

use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// The minimum and maximum wait after a failed synchronisation or deletion, in seconds.
const WAITS_S: (i64, i64) = (30, 1800);

/// Drops fractions of a second, as Kubernetes does.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// Adds a duration. `None` on overflow.
pub fn later(time: Timestamp, duration: SignedDuration) -> Option<Timestamp> {
    time.checked_add(duration).ok()
}

/// When a failed Job is retried: the wait doubles with each attempt.
pub fn retry_at(finished_at: Timestamp, attempts: u32) -> Option<Timestamp> {
    let wait = WAITS_S.0.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(WAITS_S.1);
    later(finished_at, SignedDuration::from_secs(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_half_an_hour() {
        let waits = [1, 2, 3, 6, 7, 100].map(|attempts| retry_at(Timestamp::UNIX_EPOCH, attempts).unwrap().as_second());
        assert_eq!(waits, [30, 60, 120, 960, 1800, 1800]);
    }
}

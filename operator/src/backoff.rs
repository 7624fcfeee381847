//! The back-off of failed reconciles.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::hash::hash;

/// The minimum and maximum wait.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(300));

/// The number of consecutive failures of each resource, by uid.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    /// Records a failure and returns how long to wait.
    pub fn failed(&self, uid: &str) -> Duration {
        let mut failures = self.0.lock();
        let count = failures.entry(uid.to_owned()).or_default();
        *count = count.saturating_add(1);
        wait(uid, *count)
    }

    /// Forgets the failures of a resource that succeeded or was deleted.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

/// Doubles with each failure and adds up to 50%, so that resources that failed together are not retried together.
/// Deterministic for each uid.
fn wait(uid: &str, failures: u32) -> Duration {
    let doubled = WAITS.0.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(WAITS.1);
    let fraction = u8::from_str_radix(&hash(&(uid, failures))[..2], 16).unwrap_or(0);
    doubled + doubled.mul_f64(f64::from(fraction) / 512.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_to_a_limit_and_differs() {
        for (failures, least) in [(1, 500), (2, 1_000), (4, 4_000), (20, 300_000), (u32::MAX, 300_000)] {
            let wait = wait("a", failures).as_millis();
            assert!((least..=least * 3 / 2).contains(&wait), "{failures}: {wait}");
        }
        let waits: std::collections::BTreeSet<_> = (0..20).map(|engine| wait(&engine.to_string(), 3)).collect();
        assert!(waits.len() > 10, "{waits:?}");
    }

    #[test]
    fn a_success_resets_the_wait() {
        let failures = Failures::default();
        let first = failures.failed("a");
        assert!(failures.failed("a") > first);
        failures.forget("a");
        assert_eq!(failures.failed("a"), first);
    }
}

//! A monotonic clock for all tasks of this program.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since an arbitrary time before the start of the program. Never decreases.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let since = Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or_default());
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances() {
        let before = monotonic_ns();
        let sum: u64 = (0..1000_u64).map(std::hint::black_box).sum();
        assert!(sum > 0 && monotonic_ns() > before);
    }
}

use std::time::{SystemTime, UNIX_EPOCH};

/// The end of the year 9999. Later times, and times before 1970, have no representation in all backends.
const LAST_MS: i64 = 253_402_300_799_999;

/// The time now, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).map_or(LAST_MS, representable)
}

/// The nearest time that every backend can store.
pub(crate) fn representable(time_ms: i64) -> i64 {
    time_ms.clamp(0, LAST_MS)
}

use std::time::{SystemTime, UNIX_EPOCH};

/// The time now, in seconds since 1970.
pub(crate) fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

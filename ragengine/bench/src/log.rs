//! Durations of a start, read from the server's log.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Durations of the phases of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Loading the indexes.
    pub indexes: Duration,
    /// From the loaded embedding model until ready.
    pub after_model: Duration,
    /// Loading the embedding model.
    pub model: Duration,
}

/// Reads the last start from a log with one JSON object per line.
///
/// # Errors
///
/// If the log lacks an event or a field; the message names it.
pub fn start(text: &str) -> anyhow::Result<Start> {
    let events: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let event = |message: &str| {
        let found = events.iter().rev().find(|event| event["message"] == message);
        found.with_context(|| format!("the server's log has no event '{message}'"))
    };
    let (indexes, model, ready) = (event("indexes loaded")?, event("embedding model loaded")?, event("ready")?);
    let (loaded_at, ready_at) = (time_of_day(model)?, time_of_day(ready)?);
    let midnight = if ready_at < loaded_at { DAY } else { Duration::ZERO };
    Ok(Start { indexes: elapsed(indexes)?, after_model: ready_at + midnight - loaded_at, model: elapsed(model)? })
}

fn elapsed(event: &Value) -> anyhow::Result<Duration> {
    let milliseconds = event["elapsed_ms"].as_u64().with_context(|| format!("no elapsed_ms in {event}"))?;
    Ok(Duration::from_millis(milliseconds))
}

/// Time of day of a timestamp such as `2026-01-31T23:59:58.123456Z`.
fn time_of_day(event: &Value) -> anyhow::Result<Duration> {
    let parse = || {
        let (_, time) = event["timestamp"].as_str()?.trim_end_matches('Z').split_once('T')?;
        let mut parts = time.split(':').map(|part| part.parse::<f64>().ok());
        let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
        Duration::try_from_secs_f64(hours * 3600.0 + minutes * 60.0 + seconds).ok()
    };
    parse().with_context(|| format!("no timestamp in {event}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"
{"timestamp":"2026-01-31T08:59:50.000000Z","level":"INFO","message":"ready"}
not JSON
{"timestamp":"2026-01-31T08:59:58.500000Z","level":"INFO","message":"indexes loaded","elapsed_ms":41}
{"timestamp":"2026-01-31T08:59:59.900000Z","level":"INFO","message":"embedding model loaded","elapsed_ms":1400}
{"timestamp":"2026-01-31T09:00:00.150000Z","level":"INFO","message":"ready"}
"#;

    #[test]
    fn the_last_start_is_read() {
        let found = start(LOG).unwrap();
        assert_eq!((found.indexes, found.model), (Duration::from_millis(41), Duration::from_millis(1400)));
        assert!(found.after_model.abs_diff(Duration::from_millis(250)) < Duration::from_micros(1));
        let midnight = start(&LOG.replace("T09:00:00", "T00:00:00").replace("T08:", "T23:")).unwrap();
        assert!(midnight.after_model.abs_diff(found.after_model) < Duration::from_micros(1));
    }

    #[test]
    fn errors_name_the_missing_event_or_field() {
        let error = start(&LOG.replace("embedding model loaded", "x")).unwrap_err().to_string();
        assert!(error.contains("'embedding model loaded'"), "{error}");
        assert!(start(&LOG.replace("elapsed_ms", "x")).unwrap_err().to_string().contains("elapsed_ms"));
        assert!(start(&LOG.replace("timestamp", "x")).unwrap_err().to_string().contains("timestamp"));
    }
}

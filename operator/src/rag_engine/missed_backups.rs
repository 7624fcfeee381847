//! Counts the scheduled backups that an engine has missed. Pure functions.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use ragengine_operator_api::RagEngine;

use super::build::LATEST_END_S;
use crate::index::schedule::Schedule;

/// The largest number that is counted: a backup each minute may have been missed for years.
const MOST: usize = 100;

/// The number of scheduled backups since the last good one, or since `begun` if there is none, that are missed. The last
/// of them counts once it cannot be running any more, and the others at once: so one of a weekly schedule counts after
/// hours, and a slow one of an hourly schedule does not count while it runs. An engine that never had an index misses
/// none while its Jobs run and find none. One that had a good backup has lost its indexes then, and misses backups.
/// `None` if no backups are made: the specification asks for none, or suspends them.
pub fn missed(engine: &RagEngine, begun: Timestamp, now: Timestamp) -> Option<u64> {
    let backup = engine.spec.backup.as_ref().filter(|backup| !backup.suspend && engine.spec.replicas > 0)?;
    let status = engine.status.as_ref().and_then(|status| status.backup.as_ref());
    let last = status.and_then(|status| status.last_successful_time.as_ref().or(status.last_empty_time.as_ref()));
    let since = last.map_or(begun, |last| last.0);
    let schedule = Schedule::exact(&backup.schedule, since).ok()?;
    let scheduled = std::iter::successors(schedule.next(since), |time| schedule.next(*time));
    let due: Vec<_> = scheduled.take_while(|time| *time <= now).take(MOST).collect();
    let longest = SignedDuration::from_secs(LATEST_END_S);
    let may_be_running = due.last().is_some_and(|last| now.duration_since(*last) < longest);
    u64::try_from(due.len()).ok().map(|count| count - u64::from(may_be_running))
}

#[cfg(test)]
mod tests {
    use ragengine_operator_api::{BackupStatus, RagEngineStatus};
    use serde_json::{Value, json};

    use super::*;

    fn engine(schedule: &str, last: Option<&str>) -> RagEngine {
        engine_with(schedule, json!({"lastSuccessfulTime": last}))
    }

    fn engine_with(schedule: &str, backup: Value) -> RagEngine {
        let spec = json!({"replicas": 1, "backup": {"schedule": schedule, "s3": {"bucket": "b"}}});
        let mut engine = RagEngine::new("docs", serde_json::from_value(spec).unwrap());
        let backup = Some(serde_json::from_value::<BackupStatus>(backup).unwrap());
        engine.status = Some(RagEngineStatus { backup, ..RagEngineStatus::default() });
        engine
    }

    fn of(engine: &RagEngine, now: &str) -> Option<u64> {
        missed(engine, "2026-11-02T10:00:00Z".parse().unwrap(), now.parse().unwrap())
    }

    /// The 8th of November 2026 is a Sunday.
    #[test]
    fn a_backup_is_missed_when_it_cannot_be_running_any_more() {
        for (schedule, last, now, expected) in [
            ("30 2 * * *", None, "2026-11-02T12:00:00Z", 0),
            ("30 2 * * *", None, "2026-11-03T09:29:00Z", 0),
            ("30 2 * * *", None, "2026-11-03T09:30:00Z", 1),
            ("30 2 * * *", None, "2026-11-04T02:30:00Z", 1),
            ("30 2 * * *", Some("2026-11-07T02:41:00Z"), "2026-11-08T02:40:00Z", 0),
            ("30 2 * * *", Some("2026-11-08T02:41:00Z"), "2026-11-08T12:00:00Z", 0),
            ("30 2 * * *", Some("2026-11-05T02:41:00Z"), "2026-11-08T12:00:00Z", 3),
            ("30 2 * * 0", None, "2026-11-08T03:00:00Z", 0),
            ("30 2 * * 0", None, "2026-11-08T10:00:00Z", 1),
            ("0 * * * *", Some("2026-11-08T02:30:00Z"), "2026-11-08T03:59:00Z", 0),
            ("0 * * * *", Some("2026-11-08T02:30:00Z"), "2026-11-08T04:29:00Z", 1),
            ("* * * * *", None, "2026-11-08T03:00:00Z", 100),
        ] {
            assert_eq!(of(&engine(schedule, last), now), Some(expected), "{schedule} {last:?} {now}");
        }
    }

    #[test]
    fn an_engine_that_never_had_an_index_misses_none_while_its_jobs_run() {
        let now = "2026-11-08T12:00:00Z";
        for (status, expected) in [
            (json!({"lastEmptyTime": "2026-11-08T02:31:00Z"}), 0),
            // Its Jobs do not run or do not succeed any more.
            (json!({"lastEmptyTime": "2026-11-05T02:31:00Z"}), 3),
            // It has lost its indexes.
            (json!({"lastSuccessfulTime": "2026-11-05T02:41:00Z", "lastEmptyTime": "2026-11-08T02:31:00Z"}), 3),
        ] {
            assert_eq!(of(&engine_with("30 2 * * *", status.clone()), now), Some(expected), "{status}");
        }
    }

    #[test]
    fn an_engine_without_backups_misses_none() {
        let well = engine("30 2 * * *", None);
        let mut suspended = well.clone();
        suspended.spec.backup.as_mut().unwrap().suspend = true;
        let mut stopped = well.clone();
        stopped.spec.replicas = 0;
        let mut without = well;
        without.spec.backup = None;
        for engine in [suspended, stopped, without] {
            assert_eq!(of(&engine, "2026-11-08T12:00:00Z"), None);
        }
    }
}

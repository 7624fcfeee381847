//! When a schedule says that it is time: pure, from the schedule and a time.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::civil::DateTime;
use k8s_openapi::jiff::tz::Offset;

/// The times of a crontab's line, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule(Cron);

impl Schedule {
    /// Reads five fields: minute, hour, day of the month, month, day of the week.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words. A time that never comes is wrong too.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, String> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let refused =
            |what: String| format!("schedule '{text}' {what}: write for example 0 * * * * for every full hour");
        let schedule = parser.parse(text).map(Self).map_err(|error| refused(format!("cannot be read ({error})")))?;
        match schedule.next(now) {
            Some(_) => Ok(schedule),
            None => Err(refused("names a time that never comes".to_owned())),
        }
    }

    /// The last time that has come.
    pub fn last(&self, now: Timestamp) -> Option<Timestamp> {
        as_timestamp(self.0.find_previous_occurrence(&as_date_time(now), true).ok()?)
    }

    /// The next time that comes.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        as_timestamp(self.0.find_next_occurrence(&as_date_time(now), false).ok()?)
    }
}

fn as_date_time(time: Timestamp) -> DateTime {
    Offset::UTC.to_datetime(time)
}

fn as_timestamp(time: DateTime) -> Option<Timestamp> {
    Offset::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_last_and_the_next_time_are_in_utc() {
        for (schedule, now, last, next) in [
            ("0 * * * *", "2026-11-22T14:00:00Z", "2026-11-22T14:00:00Z", "2026-11-22T15:00:00Z"),
            ("0 * * * *", "2026-11-22T14:59:59.9Z", "2026-11-22T14:00:00Z", "2026-11-22T15:00:00Z"),
            ("*/15 8-9 * * MON-FRI", "2026-11-22T14:00:00Z", "2026-11-20T09:45:00Z", "2026-11-23T08:00:00Z"),
            ("30 3 * * 0", "2026-11-22T03:30:00Z", "2026-11-22T03:30:00Z", "2026-11-29T03:30:00Z"),
            ("0 0 29 2 *", "2026-11-22T14:00:00Z", "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 13 * 5", "2026-11-22T14:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z"),
        ] {
            let schedule = Schedule::parse(schedule, at(now)).unwrap();
            assert_eq!((schedule.last(at(now)), schedule.next(at(now))), (Some(at(last)), Some(at(next))), "{now}");
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused_in_words() {
        for text in ["60 * * * *", "* * * *", "* * * * * *", "0 0 30 2 *", "a b c d e", "", "0 0 1 1 * 2026"] {
            let message = Schedule::parse(text, at("2026-11-22T14:00:00Z")).unwrap_err();
            assert!(message.contains("0 * * * *"), "{text}: {message}");
        }
    }
}

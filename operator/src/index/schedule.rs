//! Calculates the times of a schedule. Pure functions.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use k8s_openapi::jiff::civil::DateTime;
use k8s_openapi::jiff::tz::Offset;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use crate::hash::hash;

/// The maximum delay of a scheduled time, as a duration and as a fraction (one nth) of the interval. The delay keeps
/// Indexes with the same schedule from starting in the same second.
const MAX_JITTER: (SignedDuration, i32) = (SignedDuration::from_secs(300), 10);

/// The times of a crontab line in UTC, each with a fixed delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    cron: Cron,
    jitter: SignedDuration,
}

impl Schedule {
    /// Parses five fields: minute, hour, day of the month, month, day of the week. `whose` (a uid) determines the
    /// delay, so that it is the same after a restart.
    ///
    /// # Errors
    ///
    /// A message for the user when the schedule is invalid or never occurs.
    pub fn parse(text: &str, whose: &str, now: Timestamp) -> Result<Self, String> {
        let exact = Self::exact(text, now)?;
        Ok(Self { jitter: exact.jitter(whose, now), ..exact })
    }

    /// Like [`Schedule::parse`], without a delay.
    ///
    /// # Errors
    ///
    /// A message for the user when the schedule is invalid or never occurs.
    pub fn exact(text: &str, now: Timestamp) -> Result<Self, String> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let refused =
            |what: String| format!("schedule '{text}' {what}: write, for example, 0 * * * * (every full hour)");
        let parsed = |text: &str| parser.parse(text).map_err(|error| refused(format!("is invalid ({error})")));
        for part in beside_all(text) {
            parsed(&part)?;
        }
        let cron = parsed(&plain(text))?;
        let exact = Self { cron, jitter: SignedDuration::ZERO };
        match exact.next(now) {
            Some(_) => Ok(exact),
            None => Err(refused("never occurs".to_owned())),
        }
    }

    /// Derived from the first two times of the day, so that it does not change during the day.
    fn jitter(&self, whose: &str, now: Timestamp) -> SignedDuration {
        let day = now.as_second().rem_euclid(24 * 3600);
        let first = Timestamp::from_second(now.as_second() - day).ok().and_then(|day| self.next(day));
        let between = first.and_then(|first| Some(self.next(first)?.duration_since(first)));
        let longest = between.map_or(MAX_JITTER.0, |between| (between / MAX_JITTER.1).min(MAX_JITTER.0));
        let part = u32::from_str_radix(&hash(&whose)[..7], 16).unwrap_or(0);
        SignedDuration::from_secs(i64::from(part) % longest.as_secs().max(1))
    }

    /// The latest scheduled time at or before `now`, without the delay.
    pub fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let exact = self.cron.find_previous_occurrence(&as_date_time(now.checked_sub(self.jitter).ok()?), true);
        as_timestamp(exact.ok()?)
    }

    /// The next scheduled time after `now`, with the delay.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let exact = self.cron.find_next_occurrence(&as_date_time(now.checked_sub(self.jitter).ok()?), false);
        as_timestamp(exact.ok()?)?.checked_add(self.jitter).ok()
    }
}

/// The largest values of the fields of a schedule.
const LARGEST: [u8; 5] = [59, 23, 31, 12, 6];

/// A schedule without what Kubernetes and many other programs accept, and the parser does not.
fn plain(text: &str) -> String {
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != LARGEST.len() {
        return text.to_owned();
    }
    let plain: Vec<String> = fields.iter().zip(LARGEST).map(|(field, largest)| plain_field(field, largest)).collect();
    plain.join(" ")
}

/// The parts of lists with a `*`, which [`plain`] leaves out, each as a schedule of its own: they may be invalid.
fn beside_all(text: &str) -> impl Iterator<Item = String> {
    let lists = text.split_whitespace().zip(LARGEST).enumerate();
    let lists = lists.filter(|(_, (field, largest))| field.contains(',') && plain_field(field, *largest) == "*");
    lists.flat_map(|(place, (field, largest))| {
        let alone = move |part| {
            let mut fields = ["*"; LARGEST.len()].map(str::to_owned);
            fields[place] = plain_field(part, largest);
            fields.join(" ")
        };
        field.split(',').map(alone)
    })
}

/// `?` is `*`, and `5/15` is `5-59/15`. One `*` in a list is all of it. `*/1` too: unlike other steps, it leaves the
/// choice of days to the other field of days.
fn plain_field(field: &str, largest: u8) -> String {
    let field = field.replace('?', "*");
    let parts = || field.split(',');
    if parts().any(|part| matches!(part, "*" | "*/1")) {
        return "*".to_owned();
    }
    let plain = |part: &str| match part.split_once('/') {
        Some((start, step)) if is_value(start) => format!("{start}-{largest}/{step}"),
        _ => part.to_owned(),
    };
    parts().map(plain).collect::<Vec<_>>().join(",")
}

/// Whether it is one number or name.
fn is_value(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn as_date_time(time: Timestamp) -> DateTime {
    Offset::UTC.to_datetime(time)
}

fn as_timestamp(time: DateTime) -> Option<Timestamp> {
    Offset::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
            ("5/20 3 ? * ?", "2026-11-22T14:00:00Z", "2026-11-22T03:45:00Z", "2026-11-23T03:05:00Z"),
            ("0 3 */1 * MON", "2026-11-22T14:00:00Z", "2026-11-16T03:00:00Z", "2026-11-23T03:00:00Z"),
            // Fridays and Saturdays, and no Sundays.
            ("0 3 * * 5/1", "2026-11-22T14:00:00Z", "2026-11-21T03:00:00Z", "2026-11-27T03:00:00Z"),
        ] {
            let schedule = Schedule::parse(schedule, "", at(now)).unwrap();
            let schedule = Schedule { jitter: SignedDuration::ZERO, ..schedule };
            assert_eq!((schedule.last(at(now)), schedule.next(at(now))), (Some(at(last)), Some(at(next))), "{now}");
        }
    }

    #[test]
    fn what_kubernetes_accepts_becomes_what_the_parser_accepts() {
        for (text, expected) in [
            ("*/15 8-18/2 1,15 JAN-MAR,12 MON-FRI", "*/15 8-18/2 1,15 JAN-MAR,12 MON-FRI"),
            ("5/15 1/2 10/7 FEB/3 mon/2", "5-59/15 1-23/2 10-31/7 FEB-12/3 mon-6/2"),
            ("0,30/10 ?/6 ? ? ?", "0,30-59/10 */6 * * *"),
            ("0 2 */1 ?/1 *,3", "0 2 * * *"),
            ("0 2 L * 5#2", "0 2 L * 5#2"),
            ("/5 1-/2 -1/2 * ", "/5 1-/2 -1/2 * "),
            ("/5 1-/2 -1/2 * *", "/5 1-/2 -1/2 * *"),
            ("@daily", "@daily"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn indexes_with_the_same_schedule_have_different_delays() {
        for (text, longest_s) in [("* * * * *", 6), ("0 * * * *", 300), ("0 3 * * *", 300)] {
            let now = at("2026-11-22T14:20:00Z");
            let of = |whose: usize| Schedule::parse(text, &format!("uid-{whose}"), now).unwrap();
            let delays: BTreeSet<i64> = (0..200).map(|whose| of(whose).jitter.as_secs()).collect();
            assert!(
                delays.len() > 5 && delays.iter().all(|delay| (0..longest_s).contains(delay)),
                "{text}: {delays:?}"
            );
            for whose in 0..20 {
                let (schedule, next) = (of(whose), of(whose).next(now).unwrap());
                let a_second = SignedDuration::from_secs(1);
                assert!(schedule.last(next).unwrap() > schedule.last(next - a_second).unwrap(), "{text} {whose}");
                assert_eq!(schedule.jitter, Schedule::parse(text, &format!("uid-{whose}"), next).unwrap().jitter);
            }
        }
    }

    #[test]
    fn an_invalid_schedule_is_refused_with_an_example() {
        for text in [
            "60 * * * *",
            "* * * *",
            "* * * * * *",
            "0 0 30 2 *",
            "a b c d e",
            "",
            "0 0 1 1 * 2026",
            "*,garbage * * * *",
        ] {
            let message = Schedule::parse(text, "", at("2026-11-22T14:00:00Z")).unwrap_err();
            assert!(message.contains("0 * * * *"), "{text}: {message}");
        }
    }
}

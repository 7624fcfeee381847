//! The date of a document, from its metadata, its path or its id.

use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::Offset;

use crate::filter::instant;

/// The years that a number in a name may be.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2100;

/// The least hexadecimal digits of a name that is a hash or a UUID. Digits in it are no year.
const HASH_DIGITS: usize = 32;

/// The most bytes before and after a digit that are looked at for a hash. A hash may have dashes in it.
const HASH_BYTES: usize = 64;

/// The day of a document: the UTC day of its metadata `date`; else a `YYYY-MM-DD` in its path, else in its id; else a
/// year in its path, else in its id, which stands for its first day. Of several in one name the last counts, because a
/// file name follows its folders.
pub fn document_day(date: Option<&str>, path: Option<&str>, doc_id: &str) -> Option<Date> {
    let names = || path.into_iter().chain([doc_id]);
    date.and_then(instant)
        .map(|instant| Offset::UTC.to_datetime(instant).date())
        .or_else(|| names().find_map(day_in))
        .or_else(|| names().find_map(year_in))
}

/// The last `YYYY-MM-DD` that is a day.
fn day_in(name: &str) -> Option<Date> {
    let runs = digit_runs(name);
    let mut days = runs.windows(3).filter_map(|runs| {
        let [year, month, day] = runs else { return None };
        let is_written_so = [year.len(), month.len(), day.len()] == [4, 2, 2]
            && &name[year.end..month.start] == "-"
            && &name[month.end..day.start] == "-";
        let date = Date::new(
            name[year.clone()].parse().ok()?,
            name[month.clone()].parse().ok()?,
            name[day.clone()].parse().ok()?,
        );
        date.ok().filter(|date| is_written_so && YEARS.contains(&date.year()))
    });
    days.next_back()
}

/// The first day of the last year.
fn year_in(name: &str) -> Option<Date> {
    let years = digit_runs(name).into_iter().filter(|run| run.len() == 4 && !is_in_hash(name, run));
    let year = years.filter_map(|run| name[run].parse().ok()).rfind(|year| YEARS.contains(year))?;
    Date::new(year, 1, 1).ok()
}

/// The places of numbers: digits that are not followed by another digit.
fn digit_runs(name: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in name.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Whether a number is a part of a hash or a UUID. An id that is a hash often has four digits in a row.
fn is_in_hash(name: &str, run: &Range<usize>) -> bool {
    let is_part = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b'-';
    let before = name.as_bytes()[..run.start].iter().rev().take_while(is_part);
    let after = name.as_bytes()[run.start..].iter().take_while(is_part);
    before.take(HASH_BYTES).chain(after.take(HASH_BYTES)).filter(|byte| **byte != b'-').nth(HASH_DIGITS - 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_in_the_metadata_else_in_the_name() {
        for (date, path, doc_id, expected) in [
            (None, Some("2024_policy.md"), "d", Some("2024-01-01")),
            (None, Some("report-2025.pdf"), "d", Some("2025-01-01")),
            (None, None, "site/report-2025.pdf", Some("2025-01-01")),
            (Some("2026-05-01"), Some("2024_policy.md"), "d", Some("2026-05-01")),
            (Some("2026-05-01T09:00:00Z"), None, "d", Some("2026-05-01")),
            (Some("2026-05-01T23:30:00-02:00"), None, "d", Some("2026-05-02")),
            (Some("May 2026"), Some("2024_policy.md"), "d", Some("2024-01-01")),
            (Some(""), None, "d", None),
            // A day in the id is better than a year in the path.
            (None, Some("2023/minutes.md"), "minutes 2022-03-04", Some("2022-03-04")),
            (None, Some("2023/notes/2024.md"), "1999", Some("2024-01-01")),
            (None, Some("a/2024-01-02/b-2024-02-03.md"), "d", Some("2024-02-03")),
            (None, Some("FY2024final.pdf"), "d", Some("2024-01-01")),
            (None, Some("über2024é.pdf"), "d", Some("2024-01-01")),
            // No day: a year is left.
            (None, Some("2024-13-01.md"), "d", Some("2024-01-01")),
            (None, Some("2024-05-011"), "d", Some("2024-01-01")),
            (None, Some("2024_05_01"), "d", Some("2024-01-01")),
            (None, Some("12024-05-01"), "d", None),
            (None, Some("20240501"), "d", None),
            (None, Some("1899, 2101, 0001-01-01"), "", None),
            (None, None, "a3f0c42024bd95e1f6c7a3f0c42024bd95e1f6c7a3f0c42024bd95e1f6c70011", None),
            (None, None, "9b1deb4d-2024-4bad-9bdd-2b0d7b3dcb6d", None),
            (None, None, "2024adeb-4bad-9bad-abdd-2bfd7b3dcb6d", None),
            (None, None, "9b1d-eb4d-3b7d-4bad-9bdd-2b0d-7b3d-2024", None),
            (None, None, "2024-face", Some("2024-01-01")),
        ] {
            let day = document_day(date, path, doc_id).map(|day| day.to_string());
            assert_eq!(day.as_deref(), expected, "{date:?} {path:?} {doc_id}");
        }
    }
}

use jiff::civil::Date;
use jiff::fmt::rfc2822;

/// Maximum length of a date in bytes.
const MAX_BYTES: usize = 64;
const FORMATS: [&str; 6] = ["%Y/%m/%d", "%Y%m%d", "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y"];

/// Converts a date in a common format to RFC 3339, `2026-05-01`. The time of day is dropped.
pub(crate) fn parse(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_BYTES {
        return None;
    }
    let date = iso(text).or_else(|| mail(text)).or_else(|| spelled(text))?;
    Some(date.to_string())
}

fn iso(text: &str) -> Option<Date> {
    let (date, rest) = text.split_at_checked(10)?;
    let ends_there = rest.is_empty() || rest.starts_with(['T', 't', ' ']);
    if !ends_there {
        return None;
    }
    Date::strptime("%Y-%m-%d", date).ok()
}

fn mail(text: &str) -> Option<Date> {
    Some(rfc2822::parse(text).ok()?.date())
}

fn spelled(text: &str) -> Option<Date> {
    FORMATS.iter().find_map(|format| Date::strptime(format, text).ok())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn dates_are_written_in_many_ways() {
        for (text, date) in [
            ("2026-05-01", Some("2026-05-01")),
            (" 2026-05-01T23:30:00+02:00 ", Some("2026-05-01")),
            ("2026-05-01 10:00", Some("2026-05-01")),
            ("2026-05-011", None),
            ("2026-13-01", None),
            ("2026/05/01", Some("2026-05-01")),
            ("20260501", Some("2026-05-01")),
            ("Fri, 01 May 2026 10:00:00 GMT", Some("2026-05-01")),
            ("May 1, 2026", Some("2026-05-01")),
            ("1 May 2026", Some("2026-05-01")),
            ("yesterday", None),
            ("", None),
            ("2026-05-0é", None),
            (&"2026-05-01 ".repeat(20), None),
        ] {
            assert_eq!(parse(text).as_deref(), date, "{text:?}");
        }
    }
}

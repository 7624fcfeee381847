//! Formats times in UTC as C's `strftime` does, with the directives that chat templates use.

const SECONDS_PER_DAY: u64 = 86_400;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Begins with the weekday of 1970-01-01.
const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Formats the time `seconds` after 1970. An unknown directive stays unchanged.
pub(super) fn strftime(seconds: u64, format: &str) -> String {
    let mut written = String::new();
    let mut rest = format;
    while let Some((before, directive)) = rest.split_once('%') {
        written.push_str(before);
        let (unpadded, directive) = directive.strip_prefix('-').map_or((false, directive), |after| (true, after));
        let Some(letter) = directive.chars().next() else {
            written.push('%');
            return written;
        };
        written.push_str(&part(seconds, letter, unpadded));
        rest = &directive[letter.len_utf8()..];
    }
    written.push_str(rest);
    written
}

fn part(seconds: u64, letter: char, unpadded: bool) -> String {
    let days = seconds / SECONDS_PER_DAY;
    let date = Date::of(days);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let padded = |number: u64| if unpadded { number.to_string() } else { format!("{number:02}") };
    match letter {
        'Y' => date.year.to_string(),
        'y' => padded(date.year % 100),
        'm' => padded(date.month),
        'd' => padded(date.day),
        'e' => format!("{:2}", date.day),
        'B' => date.month_name().to_owned(),
        'b' => date.month_name()[..3].to_owned(),
        'A' => weekday(days).to_owned(),
        'a' => weekday(days)[..3].to_owned(),
        'H' => padded(hour),
        'I' => padded((hour + 11) % 12 + 1),
        'M' => padded(minute),
        'S' => padded(second),
        'p' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        'F' => format!("{}-{:02}-{:02}", date.year, date.month, date.day),
        'T' => format!("{hour:02}:{minute:02}:{second:02}"),
        'Z' => "UTC".to_owned(),
        '%' => "%".to_owned(),
        other => format!("%{other}"),
    }
}

fn weekday(days: u64) -> &'static str {
    let place = usize::try_from(days % 7).unwrap_or(0);
    WEEKDAYS[place]
}

struct Date {
    year: u64,
    month: u64,
    day: u64,
}

impl Date {
    /// The civil date `days` after 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    fn of(days: u64) -> Self {
        let days = days + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self { year: era * 400 + year_of_era + u64::from(month <= 2), month, day }
    }

    fn month_name(&self) -> &'static str {
        let place = usize::try_from(self.month - 1).unwrap_or(0);
        MONTHS[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_python_does() {
        for (seconds, format, written) in [
            (0, "%Y-%m-%d", "1970-01-01"),
            (0, "%A %a %B %b", "Thursday Thu January Jan"),
            (951_782_400, "%d %b %Y", "29 Feb 2000"),
            (951_868_799, "%F %T", "2000-02-29 23:59:59"),
            (1_767_225_599, "%d/%m/%y %H:%M:%S", "31/12/25 23:59:59"),
            (1_719_964_800, "%-d %B %Y, %I:%M %p", "3 July 2024, 12:00 AM"),
            (1_719_964_800, "%e %j", " 3 %j"),
            (1_720_828_800, "%e %-y %Z", "13 24 UTC"),
            (1_719_968_523, "%T %M %I %p %-I %-S", "01:02:03 02 01 AM 1 3"),
            (1_720_007_999, "%H %I %p", "11 11 AM"),
            (1_720_008_000, "%H %I %p", "12 12 PM"),
            (1_720_011_600, "%H %I %p", "13 01 PM"),
            (1_719_964_800, "100%% of %q", "100% of %q"),
            (1_719_964_800, "%", "%"),
            (4_107_542_400, "%Y-%m-%d %A", "2100-03-01 Monday"),
            (1_719_964_800, "", ""),
        ] {
            assert_eq!(strftime(seconds, format), written, "{format}");
        }
    }

    #[test]
    fn every_day_is_the_day_after_the_one_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..160_000 {
            let date = Date::of(days);
            assert_eq!((date.year, date.month, date.day), (year, month, day));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + u64::from(is_leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            (year, month, day) = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, day) if day == last => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!(year, 2408);
    }
}

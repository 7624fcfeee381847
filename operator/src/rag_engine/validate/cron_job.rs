//! Checks a schedule as Kubernetes does when it gets a CronJob. Other programs know more than Kubernetes: `L`, `W`, `#`,
//! and 7 for Sunday.

/// A field of a schedule.
struct Field {
    name: &'static str,
    least: u8,
    most: u8,
    /// The names of its values, from the first one on.
    names: &'static [&'static str],
    advice: &'static str,
}

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const FIELDS: [Field; 5] = [
    Field { name: "minute", least: 0, most: 59, names: &[], advice: "write numbers from 0 to 59" },
    Field { name: "hour", least: 0, most: 23, names: &[], advice: "write numbers from 0 to 23" },
    Field {
        name: "day of the month",
        least: 1,
        most: 31,
        names: &[],
        advice: "write numbers from 1 to 31, such as 0 2 1 * * for the first day of each month, because Kubernetes knows \
                 neither L nor W",
    },
    Field { name: "month", least: 1, most: 12, names: MONTHS, advice: "write 1 to 12, or JAN to DEC" },
    Field {
        name: "day of the week",
        least: 0,
        most: 6,
        names: DAYS,
        advice: "write 0 to 6, or SUN to SAT, with 0 for Sunday, and 0,5,6 for Friday to Sunday, because Kubernetes knows \
                 neither 7 nor L nor #",
    },
];

/// Why Kubernetes refuses a schedule of five fields, if it does.
pub(super) fn refused(schedule: &str) -> Option<String> {
    FIELDS.iter().zip(schedule.split(' ')).find_map(|(field, text)| {
        let wrong = text.split(',').find(|part| !part.is_empty() && !field.accepts(part))?;
        let Field { name, advice, .. } = field;
        Some(format!("schedule '{schedule}' is invalid, because of {wrong} as the {name}: {advice}"))
    })
}

impl Field {
    /// Whether Kubernetes accepts a part of a list: a value, a range or all values, optionally with a step.
    fn accepts(&self, part: &str) -> bool {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        let is_step = step.is_none_or(|step| step.parse::<u16>().is_ok_and(|step| step > 0));
        let (start, end) = range.split_once('-').unwrap_or((range, range));
        let is_range = || self.value(start).zip(self.value(end)).is_some_and(|(start, end)| start <= end);
        is_step && (matches!(range, "*" | "?") || is_range())
    }

    fn value(&self, text: &str) -> Option<u8> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let number = named.map_or_else(|| text.parse().ok(), |place| Some(self.least + u8::try_from(place).ok()?));
        // A number with a sign parses too.
        number.filter(|number| (self.least..=self.most).contains(number) && !text.starts_with('+'))
    }
}

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ragengine_backups::Name;

/// Who writes a backup into a folder, and deletes older ones of the same writer.
#[derive(Debug, Clone, Copy)]
pub enum Writer<'a> {
    /// A person, or an earlier version with a task: the names have no mark of a writer.
    Unnamed,
    /// The writer of a task, whose mark is in the names.
    Named(&'a str),
}

impl Writer<'_> {
    /// The file name of a backup that starts at this time. Names sort by time.
    pub fn name_at(self, time: Timestamp) -> String {
        match self {
            Self::Unnamed => time.to_zoned(TimeZone::UTC).strftime("ragengine-%Y%m%dT%H%M%SZ.tar").to_string(),
            Self::Named(writer) => Name::at(time, writer).to_string(),
        }
    }

    fn has_written(self, name: &str) -> bool {
        match self {
            Self::Unnamed => is_unmarked(name),
            Self::Named(writer) => Name::parse(name).is_some_and(|name| name.is_of(writer)),
        }
    }
}

/// Returns the backups of a writer among these files that are older than `newest`, which it has just written, and than
/// its newest `keep - 1` others that are good.
pub fn superseded(
    names: Vec<String>,
    writer: Writer<'_>,
    newest: &str,
    keep: usize,
    is_good: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut backups = newest_first(names);
    backups.retain(|name| writer.has_written(name));
    let others = backups.iter().filter(|name| *name != newest && is_good(name)).cloned();
    let good: Vec<String> = [newest.to_owned()].into_iter().chain(others).take(keep).collect();
    ragengine_backups::superseded(backups, &good, keep)
}

/// Returns the backups of all writers among these files, the newest first.
pub fn newest_first(names: Vec<String>) -> Vec<String> {
    let mut backups: Vec<String> =
        names.into_iter().filter(|name| is_unmarked(name) || Name::parse(name).is_some()).collect();
    backups.sort_unstable_by(|one, other| other.cmp(one));
    backups
}

fn is_unmarked(name: &str) -> bool {
    let time = name.strip_prefix("ragengine-").and_then(|rest| rest.strip_suffix("Z.tar"));
    let is_time = |time: &str| {
        time.len() == 15
            && time.bytes().enumerate().all(|(place, byte)| match place {
                8 => byte == b'T',
                _ => byte.is_ascii_digit(),
            })
    };
    time.is_some_and(is_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_backups_and_other_files_stay() {
        let at = |time: &str| Writer::Unnamed.name_at(time.parse().unwrap());
        let (old, middle, new) = (at("2025-12-31T23:59:59Z"), at("2026-01-01T00:00:00Z"), at("2026-10-02T03:04:05Z"));
        assert_eq!(new, "ragengine-20261002T030405Z.tar");
        let others = [
            "notes.txt",
            "ragengine-mine.tar",
            "ragengine-20260101-000000Z.tar",
            "ragengine-20260101T000000Z.tar.old",
            ".ragengine-20200101T000000Z.tar.partial",
        ];
        let names: Vec<String> = [&middle, &new, &old].into_iter().cloned().chain(others.map(str::to_owned)).collect();
        assert_eq!(newest_first(names.clone()), [new.as_str(), middle.as_str(), old.as_str()]);
        assert_eq!(newest_first(others.map(str::to_owned).to_vec()), Vec::<String>::new());
        let superseded = |newest: &str, keep, is_good: fn(&str) -> bool| {
            superseded(names.clone(), Writer::Unnamed, newest, keep, is_good)
        };
        for (newest, keep, gone) in [
            (&new, 1, vec![&old, &middle]),
            (&new, 2, vec![&old]),
            (&new, 3, vec![]),
            (&new, 9, vec![]),
            // The clock was ahead when `new` was made.
            (&middle, 1, vec![&old]),
            (&middle, 2, vec![&old]),
            (&old, 1, vec![]),
        ] {
            let superseded = superseded(newest, keep, |_| true);
            assert_eq!(superseded.iter().collect::<Vec<_>>(), gone, "{newest} {keep}");
        }
        assert_eq!(superseded(&new, 2, |name| !name.contains("20260101")), Vec::<String>::new());
        assert_eq!(superseded(&new, 2, |name| !name.contains("20251231")), [old.as_str()]);
    }

    #[test]
    fn each_writer_deletes_only_its_own_backups() {
        let day = |writer: Writer<'_>, day: i8| {
            writer.name_at(jiff::civil::date(2026, 11, day).to_zoned(TimeZone::UTC).unwrap().timestamp())
        };
        let writers = [Writer::Unnamed, Writer::Named("a"), Writer::Named("b")];
        let names: Vec<String> = writers.iter().flat_map(|writer| [1, 2, 3].map(|at| day(*writer, at))).collect();
        for writer in writers {
            let superseded = superseded(names.clone(), writer, &day(writer, 3), 2, |_| true);
            assert_eq!(superseded, [day(writer, 1)], "{writer:?}");
        }
        assert!(newest_first(names)[0].starts_with("ragengine-20261103T"));
    }
}

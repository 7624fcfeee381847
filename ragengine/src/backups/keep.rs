use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The file name of a backup that starts at this time. Names sort by time.
pub fn name_at(time: Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("ragengine-%Y%m%dT%H%M%SZ.tar").to_string()
}

/// Returns the backups among these files that are older than `newest`, which was just written, and than the newest
/// `keep - 1` others that are good.
pub fn superseded(names: Vec<String>, newest: &str, keep: usize, is_good: impl Fn(&str) -> bool) -> Vec<String> {
    let backups = newest_first(names);
    let others = backups.iter().filter(|name| *name != newest && is_good(name)).cloned();
    let good: Vec<String> = [newest.to_owned()].into_iter().chain(others).take(keep).collect();
    ragengine_backups::superseded(backups, &good, keep)
}

/// Returns the backups among these files, the newest first.
pub fn newest_first(names: Vec<String>) -> Vec<String> {
    let mut backups: Vec<String> = names.into_iter().filter(|name| is_backup(name)).collect();
    backups.sort_unstable_by(|one, other| other.cmp(one));
    backups
}

fn is_backup(name: &str) -> bool {
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
        let at = |time: &str| name_at(time.parse().unwrap());
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
            let superseded = superseded(names.clone(), newest, keep, |_| true);
            assert_eq!(superseded.iter().collect::<Vec<_>>(), gone, "{newest} {keep}");
        }
        assert_eq!(superseded(names.clone(), &new, 2, |name| name != middle), Vec::<String>::new());
        assert_eq!(superseded(names, &new, 2, |name| name != old), [old.clone()]);
    }
}

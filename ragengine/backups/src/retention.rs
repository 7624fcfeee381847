use crate::Name;
use crate::listing::Listing;

/// The backups to delete, the oldest first: those of the writer that are older than each of its newest `keep` good ones.
/// Leftovers without a manifest and damaged backups of that age are among them. `good` are good backups of the writer,
/// the newest first; with fewer than `keep`, nothing is deleted.
pub fn superseded(listing: &Listing, good: &[Name], writer: &str, keep: usize) -> Vec<Name> {
    let Some(oldest_kept) = keep.checked_sub(1).and_then(|last| good.get(last)) else { return Vec::new() };
    let mut superseded: Vec<Name> = listing.files.keys().chain(&listing.manifests).cloned().collect();
    superseded.retain(|name| name.is_of(writer) && name < oldest_kept);
    superseded.sort_unstable();
    superseded.dedup();
    superseded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(day: u32, writer: &str) -> Name {
        Name::at(format!("2026-11-{day:02}T02:30:00Z").parse().unwrap(), writer)
    }

    #[test]
    fn only_what_the_newest_good_backups_supersede_is_deleted() {
        let mut listing = Listing::default();
        for day in 1..=6 {
            listing.files.insert(name(day, "a"), 1);
        }
        // The uploads of the first and the fifth day were interrupted.
        listing.manifests.extend([2, 3, 4, 6].map(|day| name(day, "a")));
        listing.files.insert(name(1, "b"), 1);
        let good: Vec<Name> = [6, 4, 3, 2].map(|day| name(day, "a")).to_vec();
        for (keep, gone) in [
            (0, vec![]),
            (1, vec![1, 2, 3, 4, 5]),
            (2, vec![1, 2, 3]),
            (3, vec![1, 2]),
            (4, vec![1]),
            (5, vec![]),
            (9, vec![]),
        ] {
            let gone: Vec<Name> = gone.into_iter().map(|day| name(day, "a")).collect();
            assert_eq!(superseded(&listing, &good, "a", keep), gone, "{keep}");
        }
        assert_eq!(superseded(&listing, &[], "a", 1), []);
    }

    #[test]
    fn an_incomplete_listing_never_leads_to_another_deletion() {
        let all: Vec<Name> = (1..=8).map(|day| name(day, "a")).collect();
        let whole = Listing {
            files: all.iter().map(|name| (name.clone(), 1)).collect(),
            manifests: all.iter().cloned().collect(),
        };
        let good: Vec<Name> = all.iter().rev().cloned().collect();
        let expected = superseded(&whole, &good, "a", 3);
        for lost in 0..256_u32 {
            let seen = |name: &Name| all.iter().position(|other| other == name).is_some_and(|at| lost >> at & 1 == 0);
            let part = Listing {
                files: whole.files.clone().into_iter().filter(|(name, _)| seen(name)).collect(),
                manifests: whole.manifests.iter().filter(|name| seen(name)).cloned().collect(),
            };
            let good: Vec<Name> = good.iter().filter(|name| seen(name)).cloned().collect();
            let deleted = superseded(&part, &good, "a", 3);
            assert!(deleted.iter().all(|name| expected.contains(name)), "{lost:b}: {deleted:?}");
        }
    }
}

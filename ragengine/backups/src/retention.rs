/// The backups to delete, the oldest first: those that are older than each of the first `keep` of these good ones. With
/// fewer than `keep` of them, nothing is deleted. A good one that is among the first is never deleted, however old its
/// name says it is.
pub fn superseded<N: Ord>(backups: impl IntoIterator<Item = N>, good: &[N], keep: usize) -> Vec<N> {
    let Some(oldest_kept) = good.get(..keep).and_then(|kept| kept.iter().min()) else { return Vec::new() };
    let mut superseded: Vec<N> = backups.into_iter().filter(|name| name < oldest_kept).collect();
    superseded.sort_unstable();
    superseded.dedup();
    superseded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_newest_good_backups_supersede_is_deleted() {
        let good = [6, 4, 3, 2];
        for (keep, gone) in [
            (0, vec![]),
            (1, vec![1, 2, 3, 4, 5]),
            (2, vec![1, 2, 3]),
            (3, vec![1, 2]),
            (4, vec![1]),
            (5, vec![]),
            (9, vec![]),
        ] {
            assert_eq!(superseded([5, 3, 1, 2, 4, 6, 3], &good, keep), gone, "{keep}");
        }
        assert!(superseded([1, 2], &[], 1).is_empty());
    }

    #[test]
    fn the_first_good_backup_stays_although_others_are_newer() {
        // The clock was ahead when 7, 8 and 9 were made.
        for (keep, gone) in [(1, vec![1]), (2, vec![1]), (4, vec![1]), (5, vec![])] {
            assert_eq!(superseded([1, 2, 7, 8, 9], &[2, 9, 8, 7], keep), gone, "{keep}");
        }
    }

    #[test]
    fn two_backups_at_once_do_not_delete_each_other() {
        assert_eq!(superseded([1, 2, 3], &[2], 1), [1]);
        assert_eq!(superseded([1, 2, 3], &[3], 1), [1, 2]);
    }

    #[test]
    fn an_incomplete_listing_never_leads_to_another_deletion() {
        for newest in [8, 1, 5] {
            let good = |seen: &dyn Fn(i32) -> bool| -> Vec<i32> {
                let others = (1..=8).rev().filter(|name| *name != newest && seen(*name));
                [newest].into_iter().chain(others).collect()
            };
            let expected = superseded(1..=8, &good(&|_| true), 3);
            for lost in 0..256_u32 {
                let seen = |name: i32| lost >> (name - 1) & 1 == 0;
                let deleted = superseded((1..=8).filter(|name| seen(*name)), &good(&seen), 3);
                assert!(deleted.iter().all(|name| expected.contains(name)), "{newest} {lost:b}: {deleted:?}");
            }
        }
    }
}

use std::collections::HashMap;

use super::super::Epoch;

/// The epochs of indexes. One counter serves all of them, so that an index that is forgotten can get a later epoch, but
/// never an earlier one.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    /// Purged indexes, each with the number of its latest purge.
    purged: HashMap<String, i64>,
    /// The epoch of all others.
    others: i64,
    /// The number of the latest purge.
    latest: i64,
}

impl Epochs {
    /// The epoch of an index.
    pub fn of(&self, index_name: &str) -> Epoch {
        Epoch(self.purged.get(index_name).copied().unwrap_or(self.others))
    }

    /// Begins the next epoch of an index. If that makes too many indexes, all are forgotten: they get the new epoch.
    pub fn raise(&mut self, index_name: &str, limit: usize) {
        self.latest += 1;
        self.purged.insert(index_name.to_owned(), self.latest);
        if self.purged.len() > limit {
            self.purged.clear();
            self.others = self.latest;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_epoch_never_falls_and_a_purge_raises_it(purges in proptest::collection::vec(0..6_u8, 0..40)) {
            let mut epochs = Epochs::default();
            for purged in purges {
                let before: Vec<Epoch> = (0..6).map(|index: u8| epochs.of(&index.to_string())).collect();
                epochs.raise(&purged.to_string(), 3);
                prop_assert!(epochs.purged.len() <= 3);
                for (index, before) in (0..6).zip(before) {
                    let now = epochs.of(&index.to_string());
                    prop_assert!(now >= before && (index != purged || now > before));
                }
            }
        }
    }
}

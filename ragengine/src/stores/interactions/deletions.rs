use std::collections::HashMap;

/// The owners whose deletions are known at most.
const MAX_OWNERS: usize = 10_000;

/// When owners deleted their interactions.
#[derive(Debug)]
pub(super) struct Deletions {
    of_owners: HashMap<String, i64>,
    /// Stands for the deletions that are not known any more: those of all owners.
    of_all_ms: i64,
}

impl Default for Deletions {
    fn default() -> Self {
        Self { of_owners: HashMap::new(), of_all_ms: i64::MIN }
    }
}

impl Deletions {
    /// An owner deletes all interactions at this time, in milliseconds since 1970.
    pub fn note(&mut self, owner: &str, at_ms: i64) {
        if self.of_owners.len() == MAX_OWNERS && !self.of_owners.contains_key(owner) {
            // Some interactions of others are lost. Deleted ones that come back would be worse.
            self.of_owners.clear();
            self.of_all_ms = at_ms;
        }
        self.of_owners.insert(owner.to_owned(), at_ms);
    }

    /// Whether an interaction of this owner was deleted since it began.
    pub fn concern(&self, owner: &str, began_ms: i64) -> bool {
        let deleted_ms = self.of_owners.get(owner).copied().unwrap_or(i64::MIN);
        began_ms <= deleted_ms.max(self.of_all_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_began_before_a_deletion_of_its_owner_is_deleted() {
        let mut deletions = Deletions::default();
        assert!(!deletions.concern("ann", 1));
        deletions.note("ann", 5);
        for (owner, began_ms, is_deleted) in [("ann", 4, true), ("ann", 5, true), ("ann", 6, false), ("eve", 4, false)]
        {
            assert_eq!(deletions.concern(owner, began_ms), is_deleted, "{owner} {began_ms}");
        }
        deletions.note("ann", 8);
        assert!(deletions.concern("ann", 6));
    }

    #[test]
    fn too_many_deletions_concern_all_owners() {
        let mut deletions = Deletions::default();
        for owner in 0..=MAX_OWNERS {
            deletions.note(&owner.to_string(), 5);
        }
        assert_eq!(deletions.of_owners.len(), 1);
        for (owner, began_ms, is_deleted) in [("0", 5, true), ("eve", 5, true), ("0", 6, false), ("eve", 6, false)] {
            assert_eq!(deletions.concern(owner, began_ms), is_deleted, "{owner} {began_ms}");
        }
    }
}

//! Which documents have changed, for a generation that is being built beside the store.

use std::collections::BTreeSet;
use std::mem;

use parking_lot::Mutex;

/// More changes than these are not told one by one: everything is compared again.
const MAX_CHANGES: usize = 100_000;

/// Documents that were written or deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The ids of documents.
    pub doc_ids: BTreeSet<String>,
    /// The numbers of documents, where only the number is at hand.
    pub numbers: BTreeSet<u64>,
    /// There were too many: any document may have changed.
    pub is_everything: bool,
}

impl Changes {
    pub(super) fn add_document(&mut self, doc_id: &str) {
        self.doc_ids.insert(doc_id.to_owned());
    }

    pub(super) fn add_number(&mut self, number: u64) {
        self.numbers.insert(number);
    }

    /// How many there are at most.
    pub fn len(&self) -> usize {
        match self.is_everything {
            true => usize::MAX,
            false => self.doc_ids.len() + self.numbers.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn merge(&mut self, other: Self) {
        self.doc_ids.extend(other.doc_ids);
        self.numbers.extend(other.numbers);
        self.is_everything |= other.is_everything;
        if self.len() > MAX_CHANGES {
            *self = Self { is_everything: true, ..Self::default() };
        }
    }
}

/// The changes since they were taken last, while somebody follows them.
#[derive(Default)]
pub(super) struct Followed(Mutex<Option<Changes>>);

impl Followed {
    pub(super) fn begin(&self) {
        self.0.lock().get_or_insert_default();
    }

    pub(super) fn end(&self) {
        *self.0.lock() = None;
    }

    pub(super) fn note(&self, changes: Changes) {
        if let Some(known) = &mut *self.0.lock() {
            known.merge(changes);
        }
    }

    pub(super) fn take(&self) -> Changes {
        self.0.lock().as_mut().map(mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_noted_while_they_are_followed_and_each_is_taken_once() {
        let followed = Followed::default();
        let change = |doc_id: &str| {
            let mut changes = Changes::default();
            changes.add_document(doc_id);
            changes
        };
        followed.note(change("before"));
        followed.begin();
        followed.note(change("a"));
        followed.note(change("b"));
        followed.note(change("a"));
        assert_eq!(followed.take().doc_ids, ["a", "b"].map(str::to_owned).into());
        assert!(followed.take().is_empty());
    }

    #[test]
    fn too_many_changes_are_everything() {
        let followed = Followed::default();
        followed.begin();
        followed.note(Changes { numbers: (0..MAX_CHANGES as u64).collect(), ..Changes::default() });
        assert!(!followed.0.lock().as_ref().unwrap().is_everything);
        followed.note(Changes { numbers: [u64::MAX].into(), ..Changes::default() });
        let taken = followed.take();
        assert!(taken.is_everything && taken.doc_ids.is_empty() && taken.numbers.is_empty() && !taken.is_empty());
    }
}

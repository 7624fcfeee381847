//! Records which documents have changed, for a generation that is being built.

use std::collections::BTreeSet;
use std::mem;

use parking_lot::Mutex;

/// The most changes that are recorded. With more, all documents are compared again.
const MAX_CHANGES: usize = 100_000;

/// Documents that were written or deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Ids of changed documents.
    pub doc_ids: BTreeSet<String>,
    /// Numbers of changed documents whose ids were not known.
    pub numbers: BTreeSet<u64>,
    /// Whether there were too many changes, so any document may have changed.
    pub is_everything: bool,
}

impl Changes {
    pub(super) fn add_document(&mut self, doc_id: &str) {
        self.doc_ids.insert(doc_id.to_owned());
    }

    pub(super) fn add_number(&mut self, number: u64) {
        self.numbers.insert(number);
    }

    /// The number of changes, at most.
    pub fn len(&self) -> usize {
        if self.is_everything { usize::MAX } else { self.doc_ids.len() + self.numbers.len() }
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

/// The follower of changes: the number of the folder in which the next generation is built.
pub type Follower = u64;

/// The changes since they were last taken. Only the latest follower gets them; without one, nothing is recorded.
#[derive(Default)]
pub(super) struct Followed(Mutex<Option<(Follower, Changes)>>);

impl Followed {
    pub(super) fn begin(&self, follower: Follower) {
        *self.0.lock() = Some((follower, Changes::default()));
    }

    pub(super) fn end(&self) {
        *self.0.lock() = None;
    }

    pub(super) fn note(&self, changes: Changes) {
        if let Some((_, known)) = &mut *self.0.lock() {
            known.merge(changes);
        }
    }

    /// Returns changes that the follower took. They are dropped if there is another follower by now.
    pub(super) fn put_back(&self, follower: Follower, changes: Changes) {
        if let Some((_, known)) = self.0.lock().as_mut().filter(|(latest, _)| *latest == follower) {
            known.merge(changes);
        }
    }

    /// None if there is another follower by now, or none.
    pub(super) fn take(&self, follower: Follower) -> Option<Changes> {
        let mut followed = self.0.lock();
        let (_, changes) = followed.as_mut().filter(|(latest, _)| *latest == follower)?;
        Some(mem::take(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_recorded_for_a_follower_and_taken_once() {
        let followed = Followed::default();
        let change = |doc_id: &str| {
            let mut changes = Changes::default();
            changes.add_document(doc_id);
            changes
        };
        followed.note(change("before"));
        followed.begin(1);
        followed.note(change("a"));
        followed.note(change("b"));
        followed.note(change("a"));
        let taken = followed.take(1).unwrap();
        assert_eq!(taken.doc_ids, ["a", "b"].map(str::to_owned).into());
        assert_eq!(followed.take(1).unwrap().len(), 0);
        followed.put_back(1, taken);
        assert_eq!(followed.take(1).unwrap().len(), 2);
    }

    #[test]
    fn an_old_follower_takes_no_changes_of_a_new_one() {
        let followed = Followed::default();
        followed.begin(1);
        followed.begin(2);
        followed.note(Changes { numbers: [7].into(), ..Changes::default() });
        assert_eq!(followed.take(1), None);
        followed.put_back(1, Changes { numbers: [8].into(), ..Changes::default() });
        assert_eq!(followed.take(2).unwrap().numbers, [7].into());
        followed.end();
        assert_eq!(followed.take(2), None);
    }

    #[test]
    fn too_many_changes_count_as_everything() {
        let followed = Followed::default();
        followed.begin(1);
        followed.note(Changes { numbers: (0..MAX_CHANGES as u64).collect(), ..Changes::default() });
        assert!(!followed.0.lock().as_ref().unwrap().1.is_everything);
        followed.note(Changes { numbers: [u64::MAX].into(), ..Changes::default() });
        let taken = followed.take(1).unwrap();
        assert!(taken.is_everything && taken.doc_ids.is_empty() && taken.numbers.is_empty() && taken.len() > 0);
    }
}

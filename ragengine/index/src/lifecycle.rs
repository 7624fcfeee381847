//! Where an index is in its life, from when it is made or opened until another has its place or it is gone.

use parking_lot::Mutex;

/// Where an index is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is there, and nobody was told since it was made or opened: while it is empty, too, it may go again as if it had never been.
    #[default]
    Unknown,
    /// Somebody was told that it is there, or has something.
    Known,
    /// A later generation or a copy has its name: writers are sent there.
    Superseded,
    /// It is gone, or about to be: writers that are under way fail.
    Deleted,
}

/// The stage of one index. Whoever changes it to be seen by writers holds their lock.
#[derive(Debug, Default)]
pub(super) struct Lifecycle(Mutex<Stage>);

impl Lifecycle {
    /// Where it is.
    pub fn stage(&self) -> Stage {
        *self.0.lock()
    }

    /// Somebody was told of it. What is gone or replaced stays so.
    pub fn was_told_of(&self) {
        let mut stage = self.0.lock();
        if *stage == Stage::Unknown {
            *stage = Stage::Known;
        }
    }

    /// Another has its place. What is gone stays gone.
    pub fn supersede(&self) {
        let mut stage = self.0.lock();
        if *stage != Stage::Deleted {
            *stage = Stage::Superseded;
        }
    }

    /// It is gone.
    pub fn delete(&self) {
        *self.0.lock() = Stage::Deleted;
    }

    /// It is gone when nobody was told of it. Returns whether that is so.
    pub fn delete_if_unknown(&self) -> bool {
        let mut stage = self.0.lock();
        let is_unknown = *stage == Stage::Unknown;
        if is_unknown {
            *stage = Stage::Deleted;
        }
        is_unknown
    }

    /// It could not be deleted after all. That was tried because nobody was told of it.
    pub fn restore(&self) {
        *self.0.lock() = Stage::Unknown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&Lifecycle);

    #[test]
    fn what_is_gone_stays_gone_and_what_is_known_is_not_deleted_as_unknown() {
        let told: Change = Lifecycle::was_told_of;
        let (supersede, delete, restore): (Change, Change, Change) =
            (Lifecycle::supersede, Lifecycle::delete, Lifecycle::restore);
        let unless_known: Change = |lifecycle| _ = lifecycle.delete_if_unknown();
        for (changes, expected) in [
            (vec![], Stage::Unknown),
            (vec![told], Stage::Known),
            (vec![told, unless_known], Stage::Known),
            (vec![unless_known], Stage::Deleted),
            (vec![unless_known, told], Stage::Deleted),
            (vec![unless_known, restore, told], Stage::Known),
            (vec![told, supersede], Stage::Superseded),
            (vec![supersede, told], Stage::Superseded),
            (vec![supersede, unless_known], Stage::Superseded),
            (vec![delete, supersede], Stage::Deleted),
        ] {
            let lifecycle = Lifecycle::default();
            changes.iter().for_each(|change| change(&lifecycle));
            assert_eq!(lifecycle.stage(), expected);
        }
    }
}

//! The lifecycle of an index, from its creation or opening until it is replaced or deleted.

use parking_lot::Mutex;

/// The stage of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// It exists, but no client was informed since it was created or opened. While it is empty, it may be deleted
    /// unnoticed.
    #[default]
    Unacknowledged,
    /// A client was informed that it exists or has documents.
    Acknowledged,
    /// A later generation or a copy has its name. Writers continue there.
    Superseded,
    /// It is deleted, or about to be. Running writers fail.
    Deleted,
}

/// The stage of one index. A change that writers must see is made under their lock.
#[derive(Debug, Default)]
pub(super) struct Lifecycle(Mutex<Stage>);

impl Lifecycle {
    /// The current stage.
    pub fn stage(&self) -> Stage {
        *self.0.lock()
    }

    /// Records that a client was informed. A deleted or replaced index stays so.
    pub fn acknowledge(&self) {
        let mut stage = self.0.lock();
        if *stage == Stage::Unacknowledged {
            *stage = Stage::Acknowledged;
        }
    }

    /// Marks it as replaced. A deleted index stays deleted.
    pub fn supersede(&self) {
        let mut stage = self.0.lock();
        if *stage != Stage::Deleted {
            *stage = Stage::Superseded;
        }
    }

    /// Marks it as deleted.
    pub fn delete(&self) {
        *self.0.lock() = Stage::Deleted;
    }

    /// Marks it as deleted if no client was informed. Returns whether it was marked.
    pub fn delete_if_unacknowledged(&self) -> bool {
        let mut stage = self.0.lock();
        let is_unacknowledged = *stage == Stage::Unacknowledged;
        if is_unacknowledged {
            *stage = Stage::Deleted;
        }
        is_unacknowledged
    }

    /// Reverts [`Self::delete_if_unacknowledged`] after a failed deletion.
    pub fn restore(&self) {
        *self.0.lock() = Stage::Unacknowledged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Transition = fn(&Lifecycle);

    #[test]
    fn deleted_stays_deleted_and_acknowledged_indexes_are_kept() {
        let acknowledge: Transition = Lifecycle::acknowledge;
        let (supersede, delete, restore): (Transition, Transition, Transition) =
            (Lifecycle::supersede, Lifecycle::delete, Lifecycle::restore);
        let delete_unless: Transition = |lifecycle| _ = lifecycle.delete_if_unacknowledged();
        for (changes, expected) in [
            (vec![], Stage::Unacknowledged),
            (vec![acknowledge], Stage::Acknowledged),
            (vec![acknowledge, delete_unless], Stage::Acknowledged),
            (vec![delete_unless], Stage::Deleted),
            (vec![delete_unless, acknowledge], Stage::Deleted),
            (vec![delete_unless, restore, acknowledge], Stage::Acknowledged),
            (vec![acknowledge, supersede], Stage::Superseded),
            (vec![supersede, acknowledge], Stage::Superseded),
            (vec![supersede, delete_unless], Stage::Superseded),
            (vec![delete, supersede], Stage::Deleted),
        ] {
            let lifecycle = Lifecycle::default();
            changes.iter().for_each(|change| change(&lifecycle));
            assert_eq!(lifecycle.stage(), expected);
        }
    }
}

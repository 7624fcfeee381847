use std::collections::BTreeMap;
use std::mem::size_of;
use std::sync::Arc;

use super::super::{Newest, SessionKey, TAKEN, Turn};
use super::limits::Limits;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    /// The latest number. Zero before the first join or turn.
    pub seq: u64,
    /// Turns up to this number were cleared.
    pub cleared: u64,
    /// In milliseconds since 1970.
    pub expires_at_ms: i64,
    /// The place in the order of uses.
    pub used: u64,
    turns: BTreeMap<u64, Arc<Turn>>,
    /// The bytes of the turns.
    turn_bytes: usize,
}

impl Session {
    /// A session without turns, used at this place.
    pub fn new(expires_at_ms: i64, used: u64) -> Self {
        Self { seq: 0, cleared: 0, expires_at_ms, used, turns: BTreeMap::new(), turn_bytes: 0 }
    }

    /// The bytes it takes. Its key is there twice.
    pub fn bytes(&self, key: &SessionKey) -> usize {
        2 * (size_of::<SessionKey>() + key.owner.len() + key.id.len()) + size_of::<Self>() + self.turn_bytes
    }

    /// The newest turns, the oldest first.
    pub fn newest(&self, mut newest: Newest, bytes: impl Fn(&Turn) -> usize) -> Vec<Arc<Turn>> {
        let fitting = self.turns.values().rev().take_while(|turn| newest.takes(bytes(turn)));
        let mut turns: Vec<_> = fitting.cloned().collect();
        turns.reverse();
        turns
    }

    /// Adds a turn. The oldest ones go if there are too many.
    pub fn add(&mut self, turn: Turn, limits: Limits) {
        self.seq = if self.seq == 0 { turn.seq.saturating_add(TAKEN) } else { self.seq.max(turn.seq) };
        self.turn_bytes += cost(&turn);
        if let Some(replaced) = self.turns.insert(turn.seq, Arc::new(turn)) {
            self.turn_bytes -= cost(&replaced);
        }
        while self.turns.len() > limits.session_turns || self.turn_bytes > limits.session_bytes {
            let Some((_, oldest)) = self.turns.pop_first() else { return };
            self.turn_bytes -= cost(&oldest);
        }
    }

    /// Deletes all turns, also those that are not added yet.
    pub fn clear(&mut self) {
        (self.cleared, self.turn_bytes) = (self.seq, 0);
        self.turns.clear();
    }
}

/// The bytes that a turn takes, so that turns without texts are limited, too.
fn cost(turn: &Turn) -> usize {
    size_of::<Turn>() + turn.bytes()
}

mod limits;
mod session;
mod table;

use parking_lot::Mutex;

use self::limits::Limits;
use self::table::Table;
use super::{Joined, Lifetime, Newest, SessionKey, Turn};
use crate::expiry::SWEEP_ROWS;

/// Sessions in the memory of this process.
#[derive(Default)]
pub(super) struct MemorySessions {
    table: Mutex<Table>,
    limits: Limits,
}

impl MemorySessions {
    pub fn join(&self, key: &SessionKey, newest: Newest, lifetime: Lifetime) -> Joined {
        let mut table = self.table.lock();
        let session = table.used(key, lifetime);
        let is_new = session.seq == 0;
        session.seq = if is_new { lifetime.first_number() } else { session.seq + 1 };
        let (seq, turns) = (session.seq, session.newest(newest, Turn::spoken_bytes));
        table.shrink(self.limits);
        // Texts are copied without the lock.
        drop(table);
        let without_sources = |turn: &Turn| Turn {
            seq: turn.seq,
            question: turn.question.clone(),
            answer: turn.answer.clone(),
            sources: String::new(),
            response_time_ms: turn.response_time_ms,
            model: turn.model.clone(),
            answer_id: turn.answer_id.clone(),
            complete: turn.complete,
            created_at_ms: turn.created_at_ms,
        };
        Joined { seq, turns: turns.iter().map(|turn| without_sources(turn)).collect(), is_new }
    }

    pub fn add(&self, key: &SessionKey, turn: Turn, lifetime: Lifetime) -> bool {
        let mut table = self.table.lock();
        let is_kept = table.used(key, lifetime).cleared < turn.seq;
        if is_kept {
            table.add(key, turn, self.limits);
        }
        table.shrink(self.limits);
        is_kept
    }

    pub fn history(&self, key: &SessionKey, newest: Newest, now_ms: i64) -> Vec<Turn> {
        let turns = self.table.lock().known(key, now_ms).map(|session| session.newest(newest, Turn::bytes));
        turns.unwrap_or_default().iter().map(|turn| Turn::clone(turn)).collect()
    }

    pub fn clear(&self, key: &SessionKey, lifetime: Lifetime) {
        self.table.lock().clear(key, lifetime);
    }

    /// One step. Returns the number of deleted sessions, and whether nothing is left to delete.
    pub fn sweep(&self, now_ms: i64) -> (u64, bool) {
        let deleted = self.table.lock().sweep(now_ms, SWEEP_ROWS);
        (deleted as u64, deleted == 0)
    }
}

#[cfg(test)]
mod tests;

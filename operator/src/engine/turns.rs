//! Whose turn it is to be asked: pure.

use std::collections::HashMap;

use tokio::time::Instant;

/// How many of one namespace: whoever may put servers there keeps nobody else's from being asked.
pub const CONCURRENCY_OF_NAMESPACE: usize = 4;

/// Whose turn it is: a server that was never asked comes before all others, because a status waits for it. Those that leave the operator without an answer
/// until the time is over may be many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub was_asked: bool,
    pub due: Instant,
}

/// All of them, in the order of their turns.
pub(super) fn first<T>(mut waiting: Vec<(Turn, T)>) -> impl Iterator<Item = T> {
    waiting.sort_by_key(|(turn, _)| *turn);
    waiting.into_iter().map(|(_, who)| who)
}

/// How many questions to servers of each namespace have no answer yet.
#[derive(Debug, Default)]
pub struct InFlight(pub(super) HashMap<String, usize>);

impl InFlight {
    /// Whether another one may be asked, which it is then.
    pub fn begins(&mut self, namespace: &str) -> bool {
        let count = self.0.get(namespace).copied().unwrap_or(0);
        if count >= CONCURRENCY_OF_NAMESPACE {
            return false;
        }
        self.0.insert(namespace.to_owned(), count + 1);
        true
    }

    /// One was answered, or given up.
    pub fn ends(&mut self, namespace: &str) {
        if let Some(count) = self.0.get_mut(namespace) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(namespace);
            }
        }
    }
}

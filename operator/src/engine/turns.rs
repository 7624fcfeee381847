//! Orders the requests to servers. Pure functions.

use std::collections::HashMap;

use tokio::time::Instant;

/// The maximum number of concurrent requests to servers of one namespace, so that no namespace can block the others.
pub const CONCURRENCY_OF_NAMESPACE: usize = 4;

/// The order of a request: servers that were never asked come first, because a status waits for them. There may be many
/// servers that let requests time out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub was_asked: bool,
    pub due: Instant,
}

/// Sorts requests by their turns.
pub(super) fn first<T>(mut waiting: Vec<(Turn, T)>) -> impl Iterator<Item = T> {
    waiting.sort_by_key(|(turn, _)| *turn);
    waiting.into_iter().map(|(_, who)| who)
}

/// The number of unanswered requests by namespace.
#[derive(Debug, Default)]
pub struct InFlight(pub(super) HashMap<String, usize>);

impl InFlight {
    /// Starts a request if the namespace's limit permits it.
    pub fn begins(&mut self, namespace: &str) -> bool {
        let count = self.0.get(namespace).copied().unwrap_or(0);
        if count >= CONCURRENCY_OF_NAMESPACE {
            return false;
        }
        self.0.insert(namespace.to_owned(), count + 1);
        true
    }

    /// Ends a request that was answered or has failed.
    pub fn ends(&mut self, namespace: &str) {
        if let Some(count) = self.0.get_mut(namespace) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(namespace);
            }
        }
    }
}

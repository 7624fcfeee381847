//! Group commit: changes that wait for the disk at the same time share one transaction and one fsync.
//!
//! The thread that gets the lock makes all waiting changes and shows them in the order of the transaction. The other
//! threads find theirs done when they get the lock. So a single writer never waits for others, and many writers share
//! one fsync.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::store::{StoreError, Transaction};
use super::view::Changed;
use super::{Index, IndexError};

/// The most changes in one transaction.
const MAX_CHANGES: usize = 64;

/// The most chunks in one transaction, unless a single change has more. All of them are in memory until the commit.
const MAX_CHUNKS: usize = 8192;

type Make = Box<dyn FnMut(&Transaction) -> Result<Vec<Changed>, StoreError> + Send>;

/// A change in the queue.
pub(super) struct Waiting {
    make: Make,
    chunks: usize,
    made: oneshot::Sender<Result<(), Failure>>,
}

/// Why a change was not made. Every change of the transaction gets it.
#[derive(Debug, Clone)]
enum Failure {
    /// The index was deleted or replaced.
    Gone,
    Store(StoreError),
    /// The change may be durable but cannot be shown, for this reason.
    NotShown(String),
}

/// The queue of changes. Its length is bounded by the number of writing threads.
#[derive(Default)]
pub(super) struct Queue(Mutex<VecDeque<Waiting>>);

impl Queue {
    /// Takes the next changes for one transaction, in order of arrival.
    fn next(&self) -> Vec<Waiting> {
        let mut waiting = self.0.lock();
        let mut chunks = 0;
        let fits = |change: &&Waiting| {
            chunks += change.chunks;
            chunks <= MAX_CHUNKS
        };
        let count = waiting.iter().take(MAX_CHANGES).take_while(fits).count().max(1).min(waiting.len());
        waiting.drain(..count).collect()
    }
}

impl Index {
    /// Changes documents. When this returns, the change is durable and visible. Blocks on the disk.
    ///
    /// `make` may be called again if another change of the transaction fails. `chunks` is the number of chunks that it
    /// adds.
    ///
    /// # Errors
    ///
    /// If `make` fails, the index is being deleted, or the disk fails: nothing of this change is made then.
    /// [`IndexError::NotShown`] if it may be durable: it is shown later automatically.
    pub(super) fn commit<T: Send + 'static>(
        &self,
        chunks: usize,
        make: impl Fn(&Transaction) -> Result<(T, Vec<Changed>), StoreError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let result = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&result);
        let make: Make = Box::new(move |transaction| {
            let (value, changed) = make(transaction)?;
            *kept.lock() = Some(value);
            Ok(changed)
        });
        let (made, mut answer) = oneshot::channel();
        self.writes.queue.0.lock().push_back(Waiting { make, chunks, made });
        let _writing = self.writes.lock.lock();
        let mut answered = answer.try_recv();
        while matches!(answered, Err(oneshot::error::TryRecvError::Empty)) {
            self.make_all(self.writes.queue.next());
            answered = answer.try_recv();
        }
        // The sender is dropped only when the thread that made the changes panicked.
        let given_up = || Failure::Store(StoreError::Disk("a write in the same transaction panicked".to_owned()));
        answered.unwrap_or_else(|_| Err(given_up())).map_err(|failure| self.error_of(failure))?;
        result.lock().take().ok_or_else(|| StoreError::Disk("a write was abandoned".to_owned()).into())
    }

    fn error_of(&self, failure: Failure) -> IndexError {
        match failure {
            Failure::Gone => self.require_present().err().unwrap_or_else(|| IndexError::NoSuchIndex(self.name.clone())),
            Failure::Store(error) => error.into(),
            Failure::NotShown(reason) => IndexError::NotShown { index: self.name.clone(), reason },
        }
    }

    /// The caller must hold `writes.lock`.
    fn make_all(&self, mut changes: Vec<Waiting>) {
        match self.try_all(&mut changes) {
            // One of the changes is inconsistent, not the disk. Each is made in a separate transaction.
            Err(Failure::Store(StoreError::Damaged(_))) if changes.len() > 1 => {
                changes.into_iter().for_each(|change| self.make_all(vec![change]));
            }
            result => changes.into_iter().for_each(|change| drop(change.made.send(result.clone()))),
        }
    }

    fn try_all(&self, changes: &mut [Waiting]) -> Result<(), Failure> {
        self.require_present().map_err(|_| Failure::Gone)?;
        self.require_shown().map_err(not_shown)?;
        let changed = self.store.write(|transaction| {
            let mut changed = Vec::new();
            for change in changes {
                changed.extend((change.make)(transaction)?);
            }
            Ok(changed)
        })?;
        self.was_acknowledged();
        self.show(changed).map_err(not_shown)
    }
}

fn not_shown(error: IndexError) -> Failure {
    match error {
        IndexError::NotShown { reason, .. } => Failure::NotShown(reason),
        error => Failure::NotShown(error.to_string()),
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests;

//! Writing together: changes that wait for the disk at the same time share one transaction and one fsync.
//!
//! Whoever gets the lock makes everybody's changes that are waiting, and shows them in the order of the transaction. The others find
//! theirs done when they get the lock. So a lone writer waits for nobody, and many wait for one fsync instead of one each.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::store::{StoreError, Transaction};
use super::view::Changed;
use super::{Index, IndexError};

/// Changes in one transaction.
const MAX_CHANGES: usize = 64;

/// Chunks in one transaction, unless a single change has more: until it is on disk, all of it is in memory.
const MAX_CHUNKS: usize = 8192;

type Make = Box<dyn FnMut(&Transaction) -> Result<Vec<Changed>, StoreError> + Send>;

/// A change that waits for its turn.
pub(super) struct Waiting {
    make: Make,
    chunks: usize,
    made: oneshot::Sender<Result<(), Failure>>,
}

/// Why a change was not made: each that shared the transaction is told.
#[derive(Debug, Clone)]
enum Failure {
    /// Deleted, or another generation has its place.
    Gone,
    Store(StoreError),
    /// It may be on disk. Why it cannot be shown.
    NotShown(String),
}

/// The changes that wait. It is as long as there are threads that wait, which their callers bound.
#[derive(Default)]
pub(super) struct Queue(Mutex<VecDeque<Waiting>>);

impl Queue {
    /// The next changes, in the order in which they came: as many as are worth one transaction.
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
    /// Makes a change of documents. When this returns, it is on disk and shown. It waits for the disk.
    ///
    /// `make` may be called again when a change that shares its transaction fails; `chunks` is how many it adds.
    ///
    /// # Errors
    ///
    /// When `make` fails, the index is being deleted, or the disk refuses: nothing of this change is made then. [`IndexError::NotShown`]
    /// when it may be on disk: it is shown by itself then.
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
        let given_up = || Failure::Store(StoreError::Disk("a write that went along was given up".to_owned()));
        answered.unwrap_or_else(|_| Err(given_up())).map_err(|failure| self.error_of(failure))?;
        result.lock().take().ok_or_else(|| StoreError::Disk("a write was given up".to_owned()).into())
    }

    fn error_of(&self, failure: Failure) -> IndexError {
        match failure {
            Failure::Gone => self.require_present().err().unwrap_or_else(|| IndexError::NoSuchIndex(self.name.clone())),
            Failure::Store(error) => error.into(),
            Failure::NotShown(reason) => IndexError::NotShown { index: self.name.clone(), reason },
        }
    }

    /// To be called by whoever holds `writing`.
    fn make_all(&self, mut changes: Vec<Waiting>) {
        match self.try_all(&mut changes) {
            // One of them is at fault, and not the disk: each for itself.
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
